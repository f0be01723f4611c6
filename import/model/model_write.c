/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_write.c - a model as bytes; model_file.h describes them
 *
 * The length of the body stands before it, so the body is written twice: the first time
 * its bytes are only counted.
 */
#include "import/model/model_file.h"

#include "cpt/base/body.h"

#include <string.h>

static void put_fixed(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

static void put_texts(struct cpti_body_writer *writer,
                      const struct cpti_model_texts *texts)
{
    cpti_body_put_number(writer, texts->count);
    for (uint32_t i = 0; i < texts->count; i++) {
        const struct cpt_bytes text = cpti_model_text(texts, i);

        cpti_body_put_number(writer, text.bytes);
        cpti_body_put(writer, text.data, text.bytes);
    }
}

static void put_kinds(struct cpti_body_writer *writer, const struct cpti_model *model)
{
    struct cpti_model_kind last = {0};

    cpti_body_put_number(writer, model->kind_count);
    for (size_t i = 0; i < model->kind_count; i++) {
        const struct cpti_model_kind kind = model->kinds[i];
        const bool is_same = i != 0 && kind.service == last.service;

        cpti_body_put_number(writer, kind.service - last.service);
        cpti_body_put_number(writer, is_same ? kind.name - last.name - 1 : kind.name);
        last = kind;
    }
    cpti_body_put_number(writer, model->dropped_count);
    for (size_t i = 0; i < model->dropped_count; i++) {
        cpti_body_put_number(writer, model->dropped[i]);
    }
}

static void put_places(struct cpti_body_writer *writer, const struct cpti_model *model,
                       const struct cpti_model_class *class)
{
    uint32_t last = 0;

    cpti_body_put_number(writer, class->place_count);
    for (uint32_t i = 0; i < class->place_count; i++) {
        const struct cpti_model_place *place = &model->places[class->place + i];

        cpti_body_put_number(writer, place->kind - last);
        cpti_body_put_number(writer,
                             2 * (uint64_t)place->requests + place->is_interval);
        last = place->kind;
    }
}

static void put_pairs(struct cpti_body_writer *writer, const struct cpti_model *model,
                      const struct cpti_model_class *class)
{
    struct cpti_model_pair last = {0};

    cpti_body_put_number(writer, class->pair_count);
    for (size_t i = 0; i < class->pair_count; i++) {
        const struct cpti_model_pair *pair = &model->pairs[class->pair + i];
        const uint32_t counts[3] = {pair->refuted[0], pair->refuted[1], pair->overlaps};
        const bool is_same = i != 0 && pair->low == last.low;

        cpti_body_put_number(writer, pair->low - last.low);
        cpti_body_put_number(writer,
                             pair->high - (is_same ? last.high : pair->low) - 1);
        cpti_body_put_number(writer,
                             2 * (uint64_t)pair->both +
                                 (pair->contains[0] != 0 || pair->contains[1] != 0));
        for (unsigned k = 0; k < 3; k++) {
            cpti_body_put_number(writer, counts[k]);
        }
        for (unsigned k = 0; k < 3; k++) {
            if (counts[k] != 0) {
                cpti_body_put_number(writer, pair->witness[k]);
            }
        }
        if (pair->contains[0] != 0 || pair->contains[1] != 0) {
            cpti_body_put_number(writer, pair->contains[0]);
            cpti_body_put_number(writer, pair->contains[1]);
        }
        last = *pair;
    }
}

static void put_steps(struct cpti_body_writer *writer, const struct cpti_model *model)
{
    struct cpti_model_step last = {0};

    cpti_body_put_number(writer, model->step_count);
    for (size_t i = 0; i < model->step_count; i++) {
        const struct cpti_model_step step = model->steps[i];
        const bool is_same = i != 0 && step.from == last.from;

        cpti_body_put_number(writer, step.from - last.from);
        cpti_body_put_number(writer, is_same ? step.to - last.to - 1 : step.to);
        last = step;
    }
}

static void put_behaviours(struct cpti_body_writer *writer,
                           const struct cpti_model *model)
{
    uint32_t last = 0;

    cpti_body_put_number(writer, model->behaviour_count);
    for (size_t i = 0; i < model->behaviour_count; i++) {
        const struct cpti_model_behaviour *behaviour = &model->behaviours[i];
        const struct cpti_model_cell *cells = &model->cells[behaviour->cell];

        cpti_body_put_number(writer, behaviour->class - last);
        cpti_body_put_number(writer, behaviour->level);
        cpti_body_put_number(writer, behaviour->requests);
        cpti_body_put_number(writer, behaviour->cell_count);
        for (uint32_t k = 0; k < behaviour->cell_count; k++) {
            cpti_body_put_number(writer, k != 0 ? cells[k].step - cells[k - 1].step - 1
                                                : cells[k].step);
            cpti_body_put_number(writer, cells[k].count);
        }
        last = behaviour->class;
    }
}

static void put_body(struct cpti_body_writer *writer, const struct cpti_model *model)
{
    cpti_body_put_number(writer, model->requests);
    cpti_body_put_number(writer, model->level);
    cpti_body_put_number(writer, model->dropped_lines);
    cpti_body_put_number(writer, model->dropped_steps);
    put_texts(writer, &model->texts);
    put_texts(writer, &model->ids);
    put_kinds(writer, model);
    cpti_body_put_number(writer, model->class_count);
    for (size_t i = 0; i < model->class_count; i++) {
        const struct cpti_model_class *class = &model->classes[i];

        cpti_body_put_number(writer, class->entry);
        cpti_body_put_number(writer, class->second);
        cpti_body_put_number(writer, class->requests);
        put_places(writer, model, class);
        put_pairs(writer, model, class);
    }
    put_steps(writer, model);
    put_behaviours(writer, model);
}

cpt_status cpti_model_write(const struct cpti_model *model, const struct cpt_sink *sink)
{
    struct cpti_body_writer *writer = cpt_alloc_zeroed(model->alloc, sizeof *writer);
    unsigned char head[CPTI_MODEL_HEAD_BYTES] = CPTI_MODEL_MAGIC;
    unsigned char crc[CPTI_MODEL_CRC_BYTES];
    cpt_status status = CPT_OK;

    if (writer == NULL) {
        return CPT_NO_MEMORY;
    }
    put_body(writer, model);
    writer->sink = *sink;
    head[CPTI_MODEL_MAGIC_BYTES] = CPTI_MODEL_VERSION;
    put_fixed(head + CPTI_MODEL_MAGIC_BYTES + 1, writer->bytes, 8);
    cpti_body_put(writer, head, sizeof head);
    put_body(writer, model);
    cpti_body_flush(writer);
    put_fixed(crc, writer->crc, sizeof crc);
    cpti_body_put(writer, crc, sizeof crc);
    cpti_body_flush(writer);
    status = writer->status;
    cpt_alloc_free(model->alloc, writer);
    return status;
}
