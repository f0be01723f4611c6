// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// test_node_others.js FOLDER PACKAGES - FOLDER/cpt_trace.js beside OpenTelemetry, and with clients
// and servers that are packages of npm, which PACKAGES/node_modules has. Nothing of this is
// needed by the file itself.
'use strict';

const assert = require('node:assert');
const {execFileSync} = require('node:child_process');
const net = require('node:net');
const path = require('node:path');
const test = require('node:test');

const [folder, packages] = process.argv.slice(2);
const {ASK, PARENT, listen, close, get, readPath, trace} = require('./node_support.js');
const load = (name) => require(require.resolve(name, {paths: [path.resolve(packages)]}));
const isOld = Number(process.versions.node.split('.')[0]) < 20;

function pathOf(names, nonce) {
  const one = new trace.Path();
  names.forEach((name) => one.append(one.frame(-1, name), 1000n));
  return trace.encode(one, 2048, one.sumNs, BigInt(`0x${nonce || 0}`));
}

/** The path of a request in which a scenario runs, by its stacks. */
async function traced(callees, scenario) {
  const service = new trace.Service('S', {trust: ['127.0.0.1'], callees});
  trace.install();
  const server = await listen(trace.handler(service, async (req, res) => {
    try {
      await scenario();
      res.end('done');
    } catch (error) {
      res.end(error.stack);
    }
  }));
  const {headers, body} = await get(server, '/', {'critical-path': ASK, traceparent: PARENT});
  trace.uninstall();
  await close(server);
  assert.strictEqual(body, 'done');
  assert.strictEqual(service.counters.errors, 0);
  return readPath(headers['critical-path-bin']).stacks;
}

// --- OpenTelemetry: what this program does if it is called with an order ---

/** Prints the headers of each call that a service sends in which both are installed. */
async function beside(order) {
  const {NodeTracerProvider} = load('@opentelemetry/sdk-trace-node');
  const {registerInstrumentations} = load('@opentelemetry/instrumentation');
  const {HttpInstrumentation} = load('@opentelemetry/instrumentation-http');
  const {UndiciInstrumentation} = load('@opentelemetry/instrumentation-undici');
  const {W3CTraceContextPropagator, W3CBaggagePropagator, CompositePropagator} =
    load('@opentelemetry/core');
  const {B3Propagator, B3InjectEncoding} = load('@opentelemetry/propagator-b3');
  const api = load('@opentelemetry/api');
  const telemetry = () => {
    new NodeTracerProvider().register({propagator: new CompositePropagator({propagators: [
      new W3CTraceContextPropagator(), new W3CBaggagePropagator(),
      new B3Propagator({injectEncoding: B3InjectEncoding.MULTI_HEADER})]})});
    registerInstrumentations({
      instrumentations: [new HttpInstrumentation(), new UndiciInstrumentation()]});
    require('http'); // where the instrumentation takes hold
  };
  const steps = {ours: trace.install, theirs: telemetry};
  for (const step of order.split(',')) steps[step]();
  const seen = [];
  const callee = await listen((req, res) => {
    seen.push({url: req.url, raw: req.rawHeaders});
    res.end('ok');
  });
  const {port} = callee.address();
  const spans = [];
  const service = new trace.Service('S', {role: 'inner', callees: {[`127.0.0.1:${port}`]: 'B'}});
  const server = await listen(trace.handler(service, async (req, res) => {
    spans.push(api.trace.getSpan(api.context.active()).spanContext());
    await get(callee, '/http', {});
    await (await fetch(`http://127.0.0.1:${port}/fetch`)).text();
    await (await fetch(`http://127.0.0.1:${port}/given`, {headers: {accept: 'x'}})).text();
    res.end('ok');
  }));
  await new Promise((resolve) => { // a plain client, whose headers are as they are here
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\ncritical-path: ${ASK}\r\n` +
      `traceparent: ${PARENT}\r\ntracestate: a=1\r\nbaggage: k=v\r\nX-B3-Sampled: 1\r\n\r\n`);
    socket.resume().on('close', resolve);
  });
  console.log(JSON.stringify({seen, spans, errors: service.counters.errors}));
  process.exit(0);
}

for (const order of ['ours,theirs', 'theirs,ours']) {
  if (process.argv[4] !== undefined) break;
  test(`one traceparent beside OpenTelemetry: ${order}`, () => {
    const text = execFileSync(process.execPath, [__filename, folder, packages, order]);
    const {seen, spans, errors} = JSON.parse(String(text).trim().split('\n').pop());
    assert.strictEqual(errors, 0);
    assert.strictEqual(spans[0].traceId, PARENT.slice(3, 35));
    assert.deepStrictEqual(seen.map(({url}) => url), ['/http', '/fetch', '/given']);
    const ids = new Set();
    for (const {url, raw} of seen) {
      const valuesOf = (name) =>
        raw.filter((_, i) => i % 2 === 1 && raw[i - 1].toLowerCase() === name);
      const parents = valuesOf('traceparent');
      assert.strictEqual(parents.length, 1, `${url}: ${parents}`);
      assert.strictEqual(parents[0].slice(0, 35), PARENT.slice(0, 35));
      assert.notStrictEqual(parents[0].slice(36, 52), PARENT.slice(36, 52), `${url}: not theirs`);
      ids.add(parents[0].slice(36, 52));
      for (const name of ['tracestate', 'baggage', 'x-b3-traceid', 'x-b3-sampled', 'critical-path',
        'critical-path-nonce']) {
        assert.strictEqual(valuesOf(name).length, 1, `${url}: ${name}: ${valuesOf(name)}`);
      }
      assert.strictEqual(valuesOf('x-b3-spanid')[0], parents[0].slice(36, 52));
    }
    assert.strictEqual(ids.size, 3);
  });
}

// --- Clients ---

test('the timeout of axios is ‹timeout›', async () => {
  const axios = load('axios');
  const callee = await listen((req, res) => {
    if (req.url === '/good') res.end('ok');
  });
  const {port} = callee.address();
  const url = (name) => `http://127.0.0.1:${port}/${name}`;
  const stacks = await traced({[`127.0.0.1:${port}`]: 'B'}, async () => {
    await axios.get(url('good'), {timeout: 60000});
    const fails = (name, options) => assert.rejects(axios.get(url(name), options));
    const transitional = {clarifyTimeoutError: true};
    await fails('late', {timeout: 300});
    await fails('own-words', {timeout: 300, timeoutErrorMessage: 'too slow'});
    await fails('clear', {timeout: 300, transitional});
    await fails('straight', {timeout: 300, maxRedirects: 0});
    await fails('signal', {signal: AbortSignal.timeout(300)});
    await fails('fetch', {timeout: 300, adapter: 'fetch'});
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 50);
    await fails('abort', {signal: abort.signal});
  });
  for (const name of ['late', 'own-words', 'clear', 'straight', 'signal', 'fetch']) {
    if (name === 'fetch' && isOld) continue; // there an aborted fetch tells no end
    const one = stacks[`S: /;B: /${name};‹5›`];
    assert.strictEqual(one && one.status, 'DEADLINE', `${name} ${JSON.stringify(stacks)}`);
  }
  assert.ok('S: /;B: /good;‹4›' in stacks);
  assert.strictEqual(stacks['S: /;B: /abort;‹4›'].reason, 5);
  await close(callee);
});

test('the queue of a client of undici', {skip: isOld && 'undici needs Node 20'}, async () => {
  const {Client, Pool, request} = load('undici');
  const seen = [];
  const callee = await listen((req, res) => {
    seen.push(req.headers);
    setTimeout(() => res.setHeader('critical-path-bin',
      trace.encodeBase64(pathOf(['b'], req.headers['critical-path-nonce']))).end('ok'), 40);
  });
  const {port} = callee.address();
  const origin = `http://127.0.0.1:${port}`;
  const client = new Client(origin);
  const stacks = await traced({[`127.0.0.1:${port}`]: 'B'}, async () => {
    await Promise.all([1, 2, 3].map(async (i) =>
      (await client.request({path: `/${i}`, method: 'GET'})).body.text()));
    await (await request(`${origin}/alone`)).body.text();
  });
  assert.ok(stacks['S: /;B: /3;‹1›'].ms > 60, JSON.stringify(stacks));
  assert.ok('S: /;B: /3;b' in stacks);
  assert.ok('S: /;B: /alone;b' in stacks);
  assert.ok(!('S: /;B: /alone;‹1›' in stacks), JSON.stringify(stacks));
  assert.ok(seen.every((headers) => headers.traceparent === PARENT));
  assert.strictEqual(new Set(seen.map((headers) => headers['critical-path-nonce'])).size, 4);
  const pool = new Pool(origin, {connections: 1});
  const parents = ['1af', '2af', '3af'].map((one) => PARENT.replace('0af', one));
  const own = new trace.Service('S', {role: 'inner', callees: {[`127.0.0.1:${port}`]: 'B'}});
  trace.install();
  const server = await listen(trace.handler(own, async (req, res) => {
    await (await pool.request({path: req.url, method: 'GET'})).body.text();
    res.end();
  }));
  const answers = await Promise.all(parents.map((traceparent, i) =>
    get(server, `/${i}`, {'critical-path': ASK, traceparent})));
  answers.forEach(({headers}, i) => {
    const frames = Object.keys(readPath(headers['critical-path-bin']).stacks);
    assert.ok(frames.includes(`S: /${i};B: /${i};b`), frames);
  });
  assert.deepStrictEqual(seen.slice(4).map((headers) => headers.traceparent).sort(), parents);
  trace.uninstall();
  await pool.close();
  await close(server);
  await client.close();
  await close(callee);
});

// --- gRPC ---

const bytes = {requestSerialize: (x) => x, requestDeserialize: (x) => x,
  responseSerialize: (x) => x, responseDeserialize: (x) => x};
const DEFINITION = {
  one: {path: '/t.T/One', requestStream: false, responseStream: false, ...bytes},
  many: {path: '/t.T/Many', requestStream: false, responseStream: true, ...bytes},
};

async function grpcService(grpc, service, implementation) {
  const server = new grpc.Server();
  const traced = service === null ? implementation : trace.grpcServer(service, implementation);
  const credentials = grpc.ServerCredentials.createInsecure();
  server.addService(DEFINITION, traced);
  return new Promise((resolve, reject) => server.bindAsync('127.0.0.1:0', credentials,
    (error, port) => (error ? reject(error) : resolve({server, port}))));
}

function grpcCall(grpc, client, request, headers = {}, options = {}) {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return new Promise((resolve) => {
    const answer = {};
    const same = (x) => x;
    const call = client.makeUnaryRequest('/t.T/One', same, same, Buffer.from(request), metadata,
      options, (error, value) => Object.assign(answer, {error, value}));
    call.on('status', (status) => resolve({...answer, status}));
  });
}

test('grpc-js: paths of answers and errors, stale ones, and room', async () => {
  const grpc = load('@grpc/grpc-js');
  const seen = [];
  const inner = await grpcService(grpc, null, {
    one: (call, callback) => {
      seen.push(call.metadata.getMap());
      const trailer = new grpc.Metadata();
      const what = call.request.toString();
      const nonce = what === 'stale' ? '1' : call.metadata.get('critical-path-nonce')[0];
      trailer.set('critical-path-bin', pathOf(['b'], nonce));
      if (what === 'late') return;
      if (what === 'fails') callback({code: 5, details: 'none'}, null, trailer);
      else callback(null, call.request, trailer);
    },
    many: (call) => call.end(),
  });
  const service = new trace.Service('S', {trust: ['127.0.0.1']});
  trace.install();
  let client;
  const copied = {};
  const outer = await grpcService(grpc, service, {
    async one(call, callback) {
      client = client || new grpc.Client(`127.0.0.1:${inner.port}`,
        grpc.credentials.createInsecure(), {interceptors: [trace.grpcClient('B')]});
      const [what, room] = call.request.toString().split(' ');
      await grpcCall(grpc, client, what, copied, what === 'late' ? {deadline: Date.now() + 50} : {});
      for (let i = 0; i < 300 && room !== undefined; i++) {
        trace.part(`a part with a name, ${i}`, () => new Date());
      }
      const trailer = new grpc.Metadata();
      trailer.set('x-own-bin', Buffer.alloc(Number(room || 10)));
      if (what !== 'fails') callback(null, call.request, trailer);
      else callback(Object.assign(new Error('none'), {code: 5, metadata: trailer}));
    },
    many: (call) => call.end(),
  });
  const direct = new grpc.Client(`127.0.0.1:${outer.port}`, grpc.credentials.createInsecure());
  const ask = {'critical-path': ASK, 'critical-path-nonce': '00000000000000ff', traceparent: PARENT,
    baggage: 'a=1', b3: '0'};
  const call = async (what) => {
    const {status, error} = await grpcCall(grpc, direct, what, ask);
    const [value] = status.metadata.get('critical-path-bin');
    assert.strictEqual(status.metadata.get('x-own-bin').length, 1, what);
    return {code: status.code, error, value, bytes: value,
      read: value && trace.decode(value),
      stacks: value && readPath(trace.encodeBase64(value)).stacks};
  };
  const root = 'S: /t.T/One;B: /t.T/One';
  const good = await call('good');
  assert.strictEqual(good.code, 0);
  assert.ok(`${root};b` in good.stacks, JSON.stringify(good.stacks));
  assert.strictEqual(good.read.nonce, 0xffn);
  assert.strictEqual((await call('stale')).stacks[`${root};‹4›`].reason, 6);
  const fails = await call('fails');
  assert.strictEqual(fails.code, 5);
  assert.ok(`${root};b` in fails.stacks);
  assert.ok(Object.values(fails.stacks).some(({status}) => status === 'NOT_FOUND'));
  assert.ok(`${root};‹5›` in (await call('late')).stacks);
  for (const room of [100, 4000, 5000, 5680, 5900]) {
    const hasPath = room < 5680;
    const {code, value} = await call(`good ${room}`);
    assert.strictEqual(code, 0);
    assert.strictEqual(value !== undefined, hasPath, `${room}`);
    if (hasPath) {
      const sent = Math.ceil((room * 4) / 3) + Math.ceil((value.length * 4) / 3) + 2 * 32 + 26;
      assert.ok(sent <= 8192 - 512, `${room}: ${sent}`);
      assert.ok(value.length > 1900 || sent > 8192 - 512 - 400, `${room}: ${sent}`);
    }
  }
  // An error is one block with its head, of which nginx takes a page.
  for (const [room, hasPath] of [[1000, true], [2400, false]]) {
    const {code, value} = await call(`fails ${room}`);
    assert.strictEqual(code, 5);
    assert.strictEqual(value !== undefined, hasPath, `${room}`);
  }
  for (const one of seen) {
    assert.deepStrictEqual([one.traceparent, one.baggage, one.b3, one['critical-path']],
      [PARENT, 'a=1', '0', ASK]);
  }
  assert.strictEqual(new Set(seen.map((one) => one['critical-path-nonce'])).size, seen.length);
  const stranger = await grpcCall(grpc, direct, 'good', {...ask, 'x-forwarded-for': '192.0.2.1'});
  assert.strictEqual(stranger.status.metadata.get('critical-path-bin').length, 0);
  assert.strictEqual(seen[seen.length - 1].baggage, undefined);
  // A gateway that sends on all metadata does not send on the ask of a stranger.
  Object.assign(copied, {'critical-path': '1;forced', 'critical-path-nonce': '00000000000000ee'});
  await grpcCall(grpc, direct, 'good', {...ask, 'x-forwarded-for': '192.0.2.1'});
  for (const name of Object.keys(copied)) assert.strictEqual(seen[seen.length - 1][name], undefined);
  assert.notStrictEqual((await call('good')).stacks[`${root};b`], undefined);
  assert.strictEqual(seen[seen.length - 1]['critical-path'], ASK);
  assert.strictEqual(service.counters.repliesStale, 1);
  assert.strictEqual(service.counters.errors, 0);
  trace.uninstall();
  for (const one of [direct, client]) one.close();
  for (const {server} of [inner, outer]) server.forceShutdown();
});

test('grpc-js: what metadata cannot have stays behind, and the call is on the path', async () => {
  const grpc = load('@grpc/grpc-js');
  const seen = [];
  const inner = await grpcService(grpc, null, {
    one: (call, callback) => {
      seen.push(call.metadata.getMap());
      callback(null, call.request);
    },
    many: (call) => call.end(),
  });
  const client = new grpc.Client(`127.0.0.1:${inner.port}`, grpc.credentials.createInsecure(),
    {interceptors: [trace.grpcClient('B')]});
  const service = new trace.Service('S', {role: 'inner'});
  const server = await listen(trace.handler(service, async (req, res) => {
    const {error} = await grpcCall(grpc, client, 'x');
    res.end(error ? error.details : 'done');
  }));
  trace.install();
  const {headers, body} = await get(server, '/',
    {'critical-path': ASK, baggage: 'city=K\xf6ln', b3: '0', traceparent: PARENT});
  assert.strictEqual(body, 'done');
  const {stacks} = readPath(headers['critical-path-bin']);
  assert.ok('S: /;B: /t.T/One;‹4›' in stacks, JSON.stringify(stacks));
  assert.deepStrictEqual([seen[0].baggage, seen[0].b3, seen[0].traceparent],
    [undefined, '0', PARENT]);
  assert.strictEqual(service.counters.errors, 0);
  trace.uninstall();
  client.close();
  inner.server.forceShutdown();
  await close(server);
});

if (process.argv[4] !== undefined) beside(process.argv[4]);
