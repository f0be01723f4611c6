/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_formats.c - the formats of programs; see event_formats.h
 *
 * Proxies and databases have what they write when nothing is configured, and behind
 * that what `cpt events check` proposes. A ';' before a blank ends an expression.
 */
#include "import/lines/event_formats.h"

#include "cpt/base/text.h"

#define IDS                                                                            \
    "id trace_id|traceId|traceid|trace.id|request_id|requestId|req_id|reqId|"          \
    "x_request_id|correlation_id|traceparent|req.id; unit span_id|spanId|span.id; "
#define PLACES                                                                         \
    "service service|service.name|service_name|app|name; host hostname|host; "         \
    "role role|span.kind; peer peer; level level; "
#define REQUEST                                                                        \
    "method method|req.method|http.method; url path|url|req.url|http.target; "
#define QUOTED "\"(?:[^\"\\\\]|\\\\.)*\""
#define OF_URL "\"(?:(?<method>[A-Z]+) (?<url>\\S+)[^\"]*|[^\"]*)\""
#define STAMP  "\\d{4}-\\d\\d-\\d\\d[T ][\\d:.,]+"

const struct cpti_format cpti_formats[] = {
    /* log_format of ngx_http_log_module: combined, and more behind it */
    {"nginx",
     "regex ^\\S+ - [^\\[]+ \\[(?<time>[^\\]]+)\\] " OF_URL " \\d{3} \\d+ " QUOTED
     " " QUOTED "(?: at=(?<end>[\\d.]+) id=(?<id>\\S+) took=(?<duration>[\\d.]+)"
     "(?: upstream=\"(?<upstream>[^\"]*)\"(?: peer=(?<peer>\\S+))?)?)?$; "
     "time %d/%b/%Y:%H:%M:%S %z; end s; duration s; upstream s; role server"},
    /* LogFormat of mod_log_config: common, combined, and more behind them */
    {"apache",
     "regex ^\\S+ \\S+ [^\\[]+ \\[(?<begin>[^\\]]+)\\] " OF_URL
     " \\d{3} \\S+(?: " QUOTED " " QUOTED ")?"
     "(?: id=(?<id>[^ ,]+)[^=]* us=(?<duration>\\d+)(?: peer=(?<peer>\\S+))?)?$; "
     "begin %d/%b/%Y:%H:%M:%S.%L %z; duration us; role server"},
    /* option httplog, through syslog or not, and an id behind it */
    {"haproxy",
     "regex ^(?:(?:[A-Z][a-z]{2} +\\d+ [\\d:]+|\\d{4}-\\S+) (?:(?<host>\\S+) )??"
     "haproxy\\[\\d+\\]: )?\\S+:\\d+ \\[(?<begin>[^\\]]+)\\] \\S+ (?<peer>[^/ ]+)/\\S+ "
     "(?<timers>[-+\\d]+/[-+\\d]+/[-+\\d]+/[-+\\d]+/[-+\\d]+) -?\\d+ [-+\\d]+ \\S+ "
     "\\S+ "
     "\\S{4} \\S+ \\d+/\\d+ (?:\\{(?<id>[0-9a-fA-F-]{16,})\\} )?(?:\\{[^}]*\\} "
     ")*" OF_URL "(?: id=(?<id>\\S*))?$; begin %d/%b/%Y:%H:%M:%S.%L; role server"},
    /* the text formats of Envoy and, with what it was for, of Istio */
    {"envoy",
     "regex ^\\[(?<begin>[^\\]]+)\\] \"(?<method>\\S+) (?<url>\\S+) [^\"]*\" \\d+ \\S+ "
     "(?:\\S+ \\S+ \"[^\"]*\" )?\\d+ \\d+ (?<duration>\\d+) (?<upstream>\\S+) "
     "\"[^\"]*\" "
     "\"[^\"]*\" \"(?<id>[^\"]*)\" \"[^\"]*\" \"[^\"]*\"(?: (?<role>\\w+\\|\\S+).*)?; "
     "duration ms; upstream ms; role server"},
    {"envoy-json", "json; id request_id|x_request_id|traceparent; begin start_time; "
                   "duration duration ms; upstream upstream_service_time ms; method "
                   "method; url path; role upstream_cluster"},
    /* log_line_prefix '%m [%p] %q%u@%d ', Debian's, and 'id=%a ' behind it */
    {"postgresql",
     "regex ^(?<time>" STAMP " \\S+) \\[\\d+\\] (?:\\S+@\\S+ )?(?:id=(?:\\[unknown\\]|"
     "(?<id>\\S*)) )?(?<level>[A-Z]+\\d?): +(?:duration: (?<duration>[\\d.]+) ms"
     "(?:  (?:parse|bind|execute|statement)[^:]*: (?<text>.*))?|(?<text>.*))$; "
     "duration ms; role server"},
    {"redis",
     "regex ^\\d+:[XCSM] (?<time>\\d\\d? \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d\\.\\d+) "
     "(?<level>[.*#-]) (?<text>.*)$; time %d %b %Y %H:%M:%S.%L"},
    /* the pattern that is proposed, those of Spring Boot 2 and 3, the default */
    {"logback",
     "regex ^(?<time>" STAMP
     "\\S*) (?<level>[A-Z]+) +(?<event>\\S+#\\d+) id=(?<id>\\S*)"
     "(?: unit=(?<unit>\\S*))? - ; "
     "regex ^(?<time>" STAMP "\\S*) +(?<level>[A-Z]+) (?:\\[(?<service>[^],]*),"
     "(?<id>[^],]*),(?<unit>[^],]*)[^]]*\\] )?\\d+ --- (?:\\[(?<service>[^]]*)\\] )??"
     "\\[[^]]*\\] (?:\\[(?:(?<id>[0-9a-f]+)-(?<unit>[0-9a-f]+))? *\\] )?"
     "(?<logger>\\S+) *: (?<text>.*)$; "
     "regex ^(?<time>(?:" STAMP "|[\\d:.,]+)) \\[[^]]*\\] (?<level>[A-Z]+) +"
     "(?<logger>\\S+) - (?<text>.*)$"},
    {"logback-json",
     "json; " IDS PLACES REQUEST "time @timestamp; text message; logger logger_name; "
     "line caller_line_number; duration duration|elapsed ms"},
    {"journald",
     "json; id REQUEST_ID|TRACE_ID; unit SPAN_ID; time "
     "_SOURCE_REALTIME_TIMESTAMP|__REALTIME_TIMESTAMP us; text MESSAGE; logger "
     "CODE_FILE; line CODE_LINE; service SYSLOG_IDENTIFIER|_COMM; host _HOSTNAME"},
    {"zap", "json; " IDS PLACES REQUEST "time ts; text msg; logger caller; "
            "duration duration|latency|elapsed|took s"},
    {"pino", "json; " IDS PLACES REQUEST "time time; text msg; "
             "duration responseTime ms"},
    {"structlog",
     "json; " IDS PLACES REQUEST "time timestamp; text event|message; "
     "logger logger|filename|module; line lineno; duration duration|elapsed s"},
    {"logfmt",
     "logfmt; " IDS PLACES REQUEST "time time|ts|t|timestamp; text msg|message; "
     "logger caller; duration duration|elapsed|took|latency s"},
    {0},
};

const struct cpti_format *cpti_format_find(struct cpt_bytes name)
{
    const struct cpti_format *format = cpti_formats;

    while (format->name != NULL && !cpti_text_is(name, format->name)) {
        format++;
    }
    return format->name != NULL ? format : NULL;
}
