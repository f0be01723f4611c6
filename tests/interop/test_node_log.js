// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// The log of an entry in Node, examples/interop/node/cpt_trace.js, whose folder is the only
// argument: which requests are in it, what their lines say, and what happens when it cannot be
// written. Its host never fails, and never waits for it.
'use strict';

const assert = require('node:assert');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const {ASK, PARENT, listen, close, get, until, trace} = require('./node_support.js');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cpt-log-'));
test.after(() => fs.rmSync(folder, {recursive: true}));
let count = 0;

/** An entry S with a log of its own, and what was written. */
async function entry({share = 1, bytesMax, file, options = {}} = {}, app = (req, res) => {
  trace.attribute('region', 'eu');
  res.statusCode = req.url === '/bad' ? 503 : 200;
  res.end('ok');
}) {
  const name = file ?? path.join(folder, `${count++}.jsonl`);
  const log = new trace.Log(name, {share, bytesMax});
  const service = new trace.Service('S', {trust: () => false, log, ...options});
  const server = await listen(trace.handler(service, app));
  const lines = async () => {
    await log.flush();
    return fs.readFileSync(name, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
  };
  return {name, log, service, server, lines, end: () => close(server)};
}

test('what a line says', async () => {
  const one = await entry();
  const {status, headers} = await get(one.server, '/find?x=1', {traceparent: PARENT});
  await get(one.server, '/bad');
  assert.strictEqual(status, 200);
  assert.strictEqual(headers['critical-path-bin'], undefined);
  assert.strictEqual(headers.vary, undefined);
  const [line, bad] = await one.lines();
  const {path: read} = trace.decodeHeader(line.path);
  assert.strictEqual(BigInt(Math.round(line.latency * 1e9)), read.sumNs);
  assert.ok(Math.abs(line.time - Date.now() / 1000) < 60);
  delete line.path;
  delete line.time;
  delete line.latency;
  assert.deepStrictEqual(line, {region: 'eu', service: 'S', method: '/find', status: 200,
    trace_id: PARENT.slice(3, 35)});
  assert.strictEqual(bad.status, 503);
  assert.strictEqual(one.log.counters.linesWritten, 2);
  assert.strictEqual(one.service.counters.errors, 0);
  await one.end();
});

test('who is in it', async () => {
  const share = (target) => ({'/all': 1, '/none': 0}[target] ?? JSON.parse('no number'));
  const one = await entry({share, options: {trust: ['127.0.0.1']}});
  await get(one.server, '/none');
  await get(one.server, '/all');
  const asked = await get(one.server, '/all', {'critical-path': ASK}); // its caller has it
  const forced = await get(one.server, '/none', {'critical-path': `${ASK};forced`});
  await get(one.server, '/all', {'critical-path': ASK, via: '1.1 x'}); // is not heeded
  await get(one.server, '/fails'); // the function has no share for it
  assert.ok(asked.headers['critical-path-bin'] && forced.headers['critical-path-bin']);
  const lines = await one.lines();
  assert.deepStrictEqual(lines.map(({method, forced: is}) => [method, is]),
    [['/all', undefined], ['/none', true], ['/all', undefined]]);
  assert.strictEqual(one.log.counters.errors, 1);
  assert.strictEqual(one.service.counters.errors, 0);
  await one.end();
});

test('the share', async () => {
  const one = await entry({share: 0.25});
  for (let i = 0; i < 2000; i++) {
    const request = one.service.begin('/', [], '');
    if (request !== null) request.end();
  }
  const lines = await one.lines();
  assert.ok(lines.length > 300 && lines.length < 700, lines.length); // by chance: 10 deviations
  assert.ok(lines.every(({probability}) => probability === 0.25));
  for (const wrong of [-0.1, 1.1, NaN]) {
    assert.throws(() => new trace.Log('x', {share: wrong}), TypeError);
  }
  assert.throws(() => new trace.Service('S', {role: 'inner', log: one.log}), TypeError);
  await one.end();
});

test('attributes, and an answer without a head', async () => {
  const one = await entry({}, (req, res) => {
    for (const [key, value] of [['a', 1], ['b', 0.5], ['c', true], ['d', null],
      ['e', 'é'.repeat(5000)], ['f', NaN], ['path', 'x'], ['__proto__', 'y']]) {
      trace.attribute(key, value);
    }
    for (let i = 0; i < 100; i++) trace.attribute(`n${i}`, i);
    if (req.url === '/drop') req.socket.destroy();
    else res.end();
  });
  trace.attribute('outside', 1);
  await get(one.server, '/');
  await get(one.server, '/drop').catch(() => null);
  await until(() => one.log.counters.linesWritten === 2, 'both lines');
  const [line, dropped] = await one.lines();
  assert.deepStrictEqual([line.a, line.b, line.c, line.d, line.f], [1, 0.5, true, 'null', 'NaN']);
  assert.strictEqual(line.e, 'é'.repeat(1000));
  assert.strictEqual(Object.keys(line).filter((key) => /^n[0-9]/.test(key)).length, 24);
  assert.ok(trace.decodeHeader(line.path).path.sumNs > 0n);
  assert.strictEqual(line.failed, undefined);
  assert.strictEqual(dropped.failed, true);
  await one.end();
});

// --- The file ---

test('a file that is renamed', async () => {
  const one = await entry();
  await get(one.server, '/1');
  assert.strictEqual((await one.lines()).length, 1);
  fs.renameSync(one.name, `${one.name}.1`);
  await get(one.server, '/2');
  assert.deepStrictEqual((await one.lines()).map(({method}) => method), ['/2']);
  await one.end();
});

test('a file that cannot be written', async () => {
  const pipe = path.join(folder, 'pipe');
  assert.strictEqual(spawnSync('mkfifo', [pipe]).status, 0);
  for (const file of [path.join(folder, 'no', 'folder'), folder, '/dev/full', pipe]) {
    const one = await entry({file});
    for (let i = 0; i < 3; i++) assert.strictEqual((await get(one.server, '/')).status, 200);
    await one.log.flush();
    assert.strictEqual(one.log.counters.linesFailed, 3, file);
    assert.strictEqual(one.log.bytes, 0);
    await one.end();
  }
});

test('a file that is full', async () => {
  const one = await entry({bytesMax: 350});
  for (let i = 0; i < 5; i++) {
    await get(one.server, '/');
    await one.log.flush();
  }
  assert.ok((await one.lines()).length > 0);
  const {linesWritten, linesDropped} = one.log.counters;
  assert.strictEqual(linesWritten + linesDropped, 5);
  assert.ok(linesDropped > 0);
  await one.end();
});

test('a slow disk, and a line that is cut', async () => {
  const one = await entry();
  const {write} = fs;
  const held = [];
  fs.write = (...words) => held.push(words);
  const request = one.service.begin('/', [], '');
  request.end();
  await until(() => held.length === 1, 'a write');
  for (let i = 0; i < 40000; i++) one.log.add(request);
  assert.ok(one.log.counters.linesDropped > 0);
  assert.ok(one.log.bytes <= 4 * 2 ** 20);
  fs.write = write;
  const [file, data, , , , done] = held[0];
  write(file, data, 0, 30, null, done);
  const lines = (await one.log.flush(), fs.readFileSync(one.name, 'utf8').split('\n'));
  assert.strictEqual(lines[0].length, 30);
  for (const line of lines.slice(1, -1)) JSON.parse(line);
  const {linesWritten, linesFailed, linesDropped} = one.log.counters;
  assert.strictEqual(linesFailed, 1);
  assert.strictEqual(linesWritten + linesDropped, 40000);
  await one.end();
});

test('the end of a process', () => {
  const file = path.join(folder, 'end.jsonl');
  const code = `const trace = require(${JSON.stringify(path.resolve(process.argv[2], 'cpt_trace.js'))});
    const log = new trace.Log(${JSON.stringify(file)}, {share: 1});
    const service = new trace.Service('S', {log});
    service.begin('/', [], '').end();`;
  assert.strictEqual(spawnSync(process.execPath, ['-e', code]).status, 0);
  assert.strictEqual(JSON.parse(fs.readFileSync(file, 'utf8')).service, 'S');
});
