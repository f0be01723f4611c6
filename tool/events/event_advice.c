/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_advice.c - directives against what lines lack; see event_advice.h
 *
 * Each was tried with the program, or stands so in its documentation. What they make
 * the program write is what event_formats.c reads.
 */
#include "tool/events/event_advice.h"

#include "cpt/base/text.h"

#define ANY       (CPTI_LACKS_ID | CPTI_LACKS_LENGTH | CPTI_LACKS_FINENESS | CPTI_LACKS_CALLS)
#define NO_LENGTH (CPTI_LACKS_ID | CPTI_LACKS_LENGTH | CPTI_LACKS_FINENESS)

static const struct cpti_advice advices[] = {
    {"nginx", ANY, "nginx.conf, http { }",
     "log_format cpt '$remote_addr - $remote_user [$time_local] \"$request\" $status "
     "'\n"
     "    '$body_bytes_sent \"$http_referer\" \"$http_user_agent\" at=$msec '\n"
     "    'id=$request_id took=$request_time upstream=\"$upstream_response_time\" '\n"
     "    'peer=$proxy_host';\n"
     "access_log /var/log/nginx/cpt.log cpt;\n"
     "proxy_set_header X-Request-Id $request_id;"},
    {"apache", NO_LENGTH, "apache2.conf",
     "LogFormat \"%h %l %u [%{%d/%b/%Y:%H:%M:%S}t.%{usec_frac}t %{%z}t] \\\"%r\\\" %>s "
     "%O "
     "\\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\" id=%{X-Request-Id}i us=%D\" cpt\n"
     "CustomLog ${APACHE_LOG_DIR}/cpt.log cpt"},
    {"haproxy", ANY, "haproxy.cfg, frontend",
     "unique-id-format %[req.hdr(X-Request-Id)]\n"
     "log-format \"%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc "
     "%ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r id=%ID\"\n"
     "# where requests enter: unique-id-format %{+X}o%ci:%cp_%Ts_%rt:%pid\n"
     "#                       unique-id-header X-Request-Id"},
    {"envoy", ANY, "envoy.yaml, access_log, log_format: text_format_source",
     "inline_string: \"[%START_TIME%] \\\"%REQ(:METHOD)% "
     "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\\\" %RESPONSE_CODE% "
     "%RESPONSE_FLAGS% "
     "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "
     "\\\"%REQ(X-FORWARDED-FOR)%\\\" \\\"%REQ(USER-AGENT)%\\\" "
     "\\\"%REQ(X-REQUEST-ID)%\\\" "
     "\\\"%REQ(:AUTHORITY)%\\\" \\\"%UPSTREAM_HOST%\\\"\\n\""},
    {"envoy-json", ANY, "envoy.yaml, access_log, log_format: json_format",
     "{start_time: \"%START_TIME%\", method: \"%REQ(:METHOD)%\", path: "
     "\"%REQ(:PATH)%\", "
     "duration: \"%DURATION%\", upstream_service_time: "
     "\"%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%\", request_id: \"%REQ(X-REQUEST-ID)%\", "
     "upstream_cluster: \"%UPSTREAM_CLUSTER%\"}"},
    {"postgresql", CPTI_LACKS_ID,
     "postgresql.conf; the service sets application_name to the id",
     "log_line_prefix = '%m [%p] %q%u@%d id=%a '"},
    {"postgresql", CPTI_LACKS_LENGTH | CPTI_LACKS_FINENESS, "postgresql.conf",
     "log_min_duration_statement = 0"},
    {"logback", ANY, "logback.xml, encoder; the filter that has the id sets traceId",
     "<pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{36}#%line "
     "id=%X{traceId} unit=%X{spanId} - %msg%n</pattern>"},
    {"logback-json", CPTI_LACKS_ID, "the filter that has the id",
     "MDC.put(\"traceId\", id);"},
    {"journald", CPTI_LACKS_ID, "the service",
     "sd_journal_send(\"MESSAGE=%s\", text, \"REQUEST_ID=%s\", id, NULL);"},
    {"zap", CPTI_LACKS_ID, "the handler of the request",
     "logger = logger.With(zap.String(\"trace_id\", id))"},
    {"zap", CPTI_LACKS_FINENESS, "the configuration of the logger",
     "config.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder"},
    {"pino", NO_LENGTH,
     "the server, if it logs by pino; else its lines need the members",
     "app.use(pinoHttp({genReqId: (req) => req.headers['x-request-id']}))\n"
     "{\"time\": 1700000000123, \"msg\": \"done\", \"request_id\": \"7f3a\", "
     "\"responseTime\": 12}"},
    {"structlog", CPTI_LACKS_ID, "the middleware; merge_contextvars is a processor",
     "structlog.contextvars.bind_contextvars(request_id=id)"},
    {"structlog", CPTI_LACKS_FINENESS, "structlog.configure(processors=[...])",
     "structlog.processors.TimeStamper(fmt=\"iso\", utc=True)"},
    {"logfmt", CPTI_LACKS_ID, "the handler of the request",
     "logger = logger.With(\"trace_id\", id)"},
    {"logfmt", CPTI_LACKS_LENGTH, "the handler of the request, at its end",
     "logger.Info(\"done\", \"duration\", time.Since(begin))"},
    {"logfmt", CPTI_LACKS_FINENESS, "what writes the time of a line",
     "time.Now().Format(time.RFC3339Nano)"},
    {"zap", CPTI_LACKS_LENGTH, "the handler of the request, at its end",
     "logger.Info(\"done\", zap.Float64(\"duration\", time.Since(begin).Seconds()))"},
    {"structlog", CPTI_LACKS_LENGTH, "the middleware, when the request ends",
     "log.info(\"done\", duration=time.perf_counter() - begin)"},
    {"redis", ANY, "the service that calls Redis, which logs no requests",
     "a line with the id, begin and end of each call"},
};

const struct cpti_advice *cpti_advice_of(struct cpt_bytes format, unsigned lacks)
{
    for (unsigned lack = CPTI_LACKS_ID; lack <= CPTI_LACKS_CALLS; lack *= 2) {
        for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
            if ((lacks & advices[i].lacks & lack) != 0 &&
                cpti_text_is(format, advices[i].format)) {
                return &advices[i];
            }
        }
    }
    return NULL;
}

const char *cpti_lack_text(unsigned lack)
{
    switch (lack) {
    case CPTI_LACKS_ID:
        return "lines do not say which request they are of";
    case CPTI_LACKS_LENGTH:
        return "lines have no begin and end, so work side by side cannot be seen";
    case CPTI_LACKS_FINENESS:
        return "stamps are of whole seconds";
    default:
        return "calls are not told as their caller saw them, so the way to a callee "
               "looks like the caller's own time; a line around each call would tell, "
               "with begin and end or a duration, role client and peer, as "
               "role=client peer=pay duration=12ms";
    }
}
