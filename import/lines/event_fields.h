/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_fields.h - the parts of a line that tell something, by the names that groups,
 * members and clauses have. Inline.
 */
#ifndef CPTI_EVENT_FIELDS_H
#define CPTI_EVENT_FIELDS_H

#include "cpt/cpt_name.h"

/* X(name in upper case, name) */
#define CPTI_FIELD_MAP(X)                                                              \
    X(ID, "id")         /* of the request */                                           \
    X(EVENT, "event")   /* its name, as it is */                                       \
    X(TEXT, "text")     /* the name, when what differs is masked */                    \
    X(LOGGER, "logger") /* with the line, a name */                                    \
    X(LINE, "line")     /* of the source */                                            \
    X(METHOD, "method") /* with the URL, a name */                                     \
    X(URL, "url")                                                                      \
    X(SERVICE, "service")                                                              \
    X(HOST, "host")                                                                    \
    X(UNIT, "unit")                                                                    \
    X(ROLE, "role") /* server or client; inbound or outbound */                        \
    X(PEER, "peer")                                                                    \
    X(LEVEL, "level")                                                                  \
    X(TIME, "time")                                                                    \
    X(BEGIN, "begin")                                                                  \
    X(END, "end")                                                                      \
    X(DURATION, "duration")                                                            \
    X(UPSTREAM, "upstream") /* lengths of the calls within: "0.012, 0.003" */          \
    X(TIMERS, "timers")     /* HAProxy's TR/Tw/Tc/Tr/Ta */

enum cpti_event_field {
#define CPTI_FIELD_ENUM_(name, text) CPTI_FIELD_##name,
    CPTI_FIELD_MAP(CPTI_FIELD_ENUM_)
#undef CPTI_FIELD_ENUM_
        CPTI_FIELDS
};

/* What one line has; empty: not there. All bytes are borrowed. */
struct cpti_fields {
    struct cpt_bytes of[CPTI_FIELDS];
    unsigned char ranks[CPTI_FIELDS]; /* of the member that it was taken from */
};

#endif
