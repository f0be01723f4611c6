/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* ids.c - ids that are not written as hexadecimal digits; see ids.h */
#include "import/formats/ids.h"

#include "cpt/base/text.h"
#include "import/spans/spans.h"

#include <string.h>

enum { HALF_DIGITS = 16, DIGIT = 64, SIX_BITS = 63 };

/* By a letter: 128 and its value in base64 or base64url; and 64 if it is a hexadecimal
 * digit; 0: it is none. */
#define OTHER(value) (unsigned char)(128 | (value))
#define HEX(value)   (unsigned char)(128 | DIGIT | (value))
static const unsigned char letters[256] = {
    ['A'] = HEX(0),    ['B'] = HEX(1),    ['C'] = HEX(2),    ['D'] = HEX(3),
    ['E'] = HEX(4),    ['F'] = HEX(5),    ['G'] = OTHER(6),  ['H'] = OTHER(7),
    ['I'] = OTHER(8),  ['J'] = OTHER(9),  ['K'] = OTHER(10), ['L'] = OTHER(11),
    ['M'] = OTHER(12), ['N'] = OTHER(13), ['O'] = OTHER(14), ['P'] = OTHER(15),
    ['Q'] = OTHER(16), ['R'] = OTHER(17), ['S'] = OTHER(18), ['T'] = OTHER(19),
    ['U'] = OTHER(20), ['V'] = OTHER(21), ['W'] = OTHER(22), ['X'] = OTHER(23),
    ['Y'] = OTHER(24), ['Z'] = OTHER(25), ['a'] = HEX(26),   ['b'] = HEX(27),
    ['c'] = HEX(28),   ['d'] = HEX(29),   ['e'] = HEX(30),   ['f'] = HEX(31),
    ['g'] = OTHER(32), ['h'] = OTHER(33), ['i'] = OTHER(34), ['j'] = OTHER(35),
    ['k'] = OTHER(36), ['l'] = OTHER(37), ['m'] = OTHER(38), ['n'] = OTHER(39),
    ['o'] = OTHER(40), ['p'] = OTHER(41), ['q'] = OTHER(42), ['r'] = OTHER(43),
    ['s'] = OTHER(44), ['t'] = OTHER(45), ['u'] = OTHER(46), ['v'] = OTHER(47),
    ['w'] = OTHER(48), ['x'] = OTHER(49), ['y'] = OTHER(50), ['z'] = OTHER(51),
    ['0'] = HEX(52),   ['1'] = HEX(53),   ['2'] = HEX(54),   ['3'] = HEX(55),
    ['4'] = HEX(56),   ['5'] = HEX(57),   ['6'] = HEX(58),   ['7'] = HEX(59),
    ['8'] = HEX(60),   ['9'] = HEX(61),   ['+'] = OTHER(62), ['-'] = OTHER(62),
    ['/'] = OTHER(63), ['_'] = OTHER(63)};
#undef OTHER
#undef HEX

static unsigned letter_at(struct cpt_bytes id, size_t at)
{
    return letters[(unsigned char)id.data[at]];
}

/* @id without the '=' at its end, of which there are as many as its length needs, or
 * none. Empty: it is not as long as an id in base64 is. */
static struct cpt_bytes without_padding(struct cpt_bytes id)
{
    /* of 8, 16 and 32 bytes */
    static const struct {
        size_t letters;
        size_t padding;
    } lengths[] = {{11, 1}, {22, 2}, {43, 1}};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t letter_count = lengths[i].letters;

        if (id.bytes == letter_count ||
            (id.bytes == letter_count + lengths[i].padding &&
             memcmp(id.data + letter_count, "==", lengths[i].padding) == 0)) {
            return (struct cpt_bytes){id.data, letter_count};
        }
    }
    return cpt_bytes_of("");
}

enum cpti_id_form cpti_id_form(struct cpt_bytes id)
{
    const struct cpt_bytes text = without_padding(id);
    const size_t spare_bits = text.bytes * 6 % 8; /* of the last letter: all are 0 */
    unsigned all = DIGIT;

    if (text.bytes == 0 ||
        (letter_at(text, text.bytes - 1) & ((1U << spare_bits) - 1)) != 0) {
        return CPTI_ID_PLAIN;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned letter = letter_at(text, i);

        if (letter == 0) {
            return CPTI_ID_PLAIN;
        }
        all &= letter;
    }
    if (text.bytes < id.bytes) {
        return CPTI_ID_PADDED;
    }
    return all != 0 ? CPTI_ID_AMBIGUOUS : CPTI_ID_BASE64;
}

static bool are_digits(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((letters[bytes[i]] & DIGIT) == 0) {
            return false;
        }
    }
    return true;
}

struct cpt_bytes cpti_id_digits(struct cpt_bytes id, char text[CPTI_ID_DIGITS_MAX])
{
    const struct cpt_bytes given = without_padding(id);
    unsigned char bytes[CPTI_ID_DIGITS_MAX];
    size_t count = 0;
    unsigned bits = 0;

    if (cpti_id_form(id) == CPTI_ID_PLAIN) {
        return id;
    }
    for (size_t i = 0; i < given.bytes; i++) {
        bits = bits << 6 | (letter_at(given, i) & SIX_BITS);
        if (i % 4 != 0) {
            bytes[count++] = (unsigned char)(bits >> (6 - i % 4 * 2));
        }
    }
    if (count >= HALF_DIGITS && are_digits(bytes, count)) {
        memcpy(text, bytes, count); /* it was encoded twice */
        return (struct cpt_bytes){text, count};
    }
    return count > HALF_DIGITS ? id : cpti_text_hex(text, bytes, count);
}

/* The lower 64 bits, without zeros in front. */
static struct cpt_bytes lower_half(struct cpt_bytes id)
{
    if (id.bytes > HALF_DIGITS && id.bytes <= CPTI_ID_DIGITS_MAX) {
        id.data += id.bytes - HALF_DIGITS;
        id.bytes = HALF_DIGITS;
    }
    while (id.bytes > 0 && *id.data == '0') {
        id.data++;
        id.bytes--;
    }
    return id;
}

bool cpti_is_one_trace(struct cpt_bytes left, struct cpt_bytes right)
{
    return cpti_ids_equal(left, right) ||
           (lower_half(left).bytes > 0 &&
            cpti_ids_equal(lower_half(left), lower_half(right)));
}
