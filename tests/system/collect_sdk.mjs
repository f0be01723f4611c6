// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
//
// collect_sdk.mjs - OpenTelemetry's own SDK as a sender: node collect_sdk.mjs KIND COUNT
//
// Makes COUNT traces of a server's span with a client's and that one's server below it,
// and sends them as KIND (proto or http, which is JSON) to OTEL_EXPORTER_OTLP_ENDPOINT.
// Prints the id of each trace, a line each.
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const api = require("@opentelemetry/api");
const sdk = require("@opentelemetry/sdk-trace-node");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const [kind, count] = process.argv.slice(2);
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-" + kind);

function tracerOf(service) {
    const provider = new sdk.NodeTracerProvider({
        resource: resourceFromAttributes({ "service.name": service, "host.name": "one" }),
        spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
    });
    return { provider, tracer: provider.getTracer("test") };
}

const front = tracerOf("front");
const store = tracerOf("store");
const base = Date.now() - 1000;
for (let i = 0; i < Number(count); i++) {
    // milliseconds are whole, so that paths are known to the nanosecond
    const root = front.tracer.startSpan("GET /", { kind: api.SpanKind.SERVER, startTime: base });
    const within = api.trace.setSpan(api.context.active(), root);
    const call = front.tracer.startSpan("get", { kind: api.SpanKind.CLIENT, startTime: base + 10 }, within);
    const called = api.trace.setSpan(within, call);
    const server = store.tracer.startSpan("get", { kind: api.SpanKind.SERVER, startTime: base + 15 }, called);
    server.end(base + 75);
    call.end(base + 80);
    root.setStatus({ code: i % 2 ? api.SpanStatusCode.ERROR : api.SpanStatusCode.OK });
    root.end(base + 100);
    console.log(root.spanContext().traceId);
}
await front.provider.shutdown();
await store.provider.shutdown();
