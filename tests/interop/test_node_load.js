// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// test_node_load.js FOLDER [REQUESTS] - a service that has what services have: workers that live as
// long as it does, begun by its first request, pools, agents that keep connections, timers. Forty
// requests at once, each with a token of its own in its names, its traceparent and its body. No
// token of another is in a path, no call has the traceparent of another, no ended request stays in
// memory. Needs node --expose-gc.
'use strict';

const assert = require('node:assert');
const {EventEmitter} = require('node:events');
const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const REQUESTS = Number(process.argv[3] || 500);
const AT_ONCE = 40;

async function listen(listener) {
  const server = http.createServer(listener);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function send(agent, port, target, headers, body = '') {
  return new Promise((resolve, reject) => {
    const request = http.request({host: '127.0.0.1', port, path: target, headers, agent,
      method: 'POST'}, (answer) => {
      answer.resume().on('end', () => resolve(answer)).on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

function tokenOf(i) {
  return `t${String(i).padStart(7, '0')}`;
}

function parentOf(i) {
  return `00-${String(i + 1).padStart(32, '0')}-00000000000000aa-01`;
}

// --- The callee: its path has the token of the call; it keeps what came ---

const foreign = [];
const counts = {called: 0, background: 0, bare: 0};

/** What a call says must be of one request: its URL has the token, or is of the background. */
function look(req) {
  const [token] = /t[0-9]{7}/.exec(req.url) || [];
  const parent = req.headers.traceparent;
  counts.called++;
  if (token === undefined) {
    counts.background++;
    if (parent !== undefined || req.headers['critical-path'] !== undefined) {
      foreign.push(`${req.url} of no request has ${parent} ${req.headers['critical-path']}`);
    }
  } else if (parent === undefined) {
    counts.bare++; // begun after the answer, and not bound
  } else if (parent !== parentOf(Number(token.slice(1)))) {
    foreign.push(`${req.url} has ${parent}`);
  }
  return token;
}

async function startCallee() {
  return listen((req, res) => {
    const token = look(req);
    const answer = () => {
      const one = new trace.Path();
      one.append(one.frame(one.frame(-1, `B: ${req.url}`), `B: in ${token}`), 1000n);
      const nonce = trace.parseNonce([req.headers['critical-path-nonce'] || '']);
      if (req.headers['critical-path'] !== undefined) {
        const data = trace.encode(one, 2048, one.sumNs, nonce);
        res.setHeader('critical-path-bin', trace.encodeBase64(data));
      }
      res.end('x'.repeat(2000));
    };
    req.resume().on('end', () => setTimeout(answer, Math.random() < 0.3 ? 3 : 0));
  });
}

// --- The service ---

/** Workers that take jobs; the first request makes them. */
class Pool {
  constructor(size) {
    this.jobs = [];
    this.idle = new EventEmitter().setMaxListeners(0);
    for (let i = 0; i < size; i++) this.work();
  }

  async work() {
    for (;;) {
      const job = this.jobs.shift();
      if (job === undefined) await new Promise((resolve) => this.idle.once('job', resolve));
      else await job();
    }
  }

  run(job) {
    return new Promise((resolve, reject) => {
      this.jobs.push(trace.bind(() => job().then(resolve, reject)));
      this.idle.emit('job');
    });
  }
}

function makeApp(port) {
  const kept = new http.Agent({keepAlive: true, maxSockets: 4});
  const more = new http.Agent({keepAlive: true, maxSockets: 1});
  let pool = null;
  let batch = [];
  const flush = () => {
    batch = [];
    send(more, port, '/flush', {}).catch(() => {});
  };
  return async (req, res) => {
    const token = req.url.slice(1);
    const call = (name, agent = kept) => send(agent, port, `/${name}-${token}`, {}, token);
    if (pool === null) {
      pool = trace.detached(() => new Pool(3));
      trace.detached(() => setInterval(flush, 5).unref());
    }
    batch.push(token);
    let body = '';
    for await (const piece of req) body += piece;
    assert.strictEqual(body, token);
    await trace.part(`part ${token}`, async () => {
      await Promise.all([call('a'), call('b', more)]);
      await pool.run(() => call('pooled'));
    });
    await (await fetch(`http://127.0.0.1:${port}/fetch-${token}`)).text();
    if (token.endsWith('3')) { // before the answer it is this request's, after it no one's
      setTimeout(() => send(kept, port, `/timer-${token}`, {}).catch(() => {}), 3);
    }
    if (token.endsWith('5')) {
      const task = trace.bind(() => call('bound').catch(() => {}));
      setTimeout(task, 3);
    }
    if (token.endsWith('7')) {
      await new Promise((resolve) => { // an answer that breaks the connection, and another attempt
        send(kept, port, `/again-${token}`, {}).then(resolve, resolve);
      });
    }
    res.setHeader('x-other', 'o'.repeat(Number(token.slice(-4)) % 4000));
    res.end(token);
  };
}

// --- The client ---

const refs = []; // of requests that were traced

function checkPath(value, token) {
  const {path: one} = trace.decodeHeader(value);
  for (const {name} of one.frames) {
    const [other] = /t[0-9]{7}/.exec(name) || [token];
    if (other !== token) foreign.push(`${name} in the path of ${token}`);
  }
}

async function client(port, numbers, agent) {
  let paths = 0;
  for (let i = numbers.shift(); i !== undefined; i = numbers.shift()) {
    const token = tokenOf(i);
    const headers = {traceparent: parentOf(i)};
    if (i % 4 !== 0) headers['critical-path'] = '1;max=2048';
    const answer = await send(agent, port, `/${token}`, headers, token);
    assert.strictEqual(answer.statusCode, 200);
    const value = answer.headers['critical-path-bin'];
    assert.ok(value === undefined || i % 4 !== 0);
    if (value !== undefined) {
      checkPath(value, token);
      paths++;
    }
  }
  return paths;
}

async function settle() {
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    global.gc();
  }
}

async function round(port, from, count, agent) {
  const numbers = Array.from({length: count}, (_, i) => from + i);
  const clients = Array.from({length: AT_ONCE}, () => client(port, numbers, agent));
  const paths = await Promise.all(clients);
  await settle();
  return {heap: process.memoryUsage().heapUsed, paths: paths.reduce((sum, n) => sum + n, 0)};
}

async function main() {
  const callee = await startCallee();
  const {port} = callee.address();
  const service = new trace.Service('S', {role: 'inner', callees: {[`127.0.0.1:${port}`]: 'B'},
    method: (target) => target});
  const nameOf = service.nameOf.bind(service); // each token is a name: more than a service keeps
  service.nameOf = (...words) => {
    if (service.names.size > trace.NAMES_MAX - 50) service.names.clear();
    return nameOf(...words);
  };
  const begin = service.begin.bind(service);
  service.begin = (...words) => {
    const request = begin(...words);
    if (request !== null) refs.push(new WeakRef(request));
    return request;
  };
  trace.install();
  const server = await listen(trace.handler(service, makeApp(port)));
  const agent = trace.detached(() => new http.Agent({keepAlive: true, maxSockets: AT_ONCE}));
  const own = server.address().port;
  const share = Math.ceil(REQUESTS / 4);
  const rounds = [];
  for (let i = 0; i < 4; i++) rounds.push(await round(own, i * share, share, agent));
  assert.deepStrictEqual(foreign.slice(0, 5), []);
  const paths = rounds.reduce((sum, one) => sum + one.paths, 0);
  assert.ok(paths > REQUESTS * 0.5, `${paths} paths`);
  assert.strictEqual(service.counters.errors, 0);
  assert.strictEqual(service.counters.repliesStale + service.counters.repliesRefused, 0);
  const alive = refs.filter((ref) => ref.deref() !== undefined).length;
  assert.ok(alive <= 2 * AT_ONCE, `${alive} of ${refs.length} requests are still in memory`);
  const grown = rounds[3].heap - rounds[1].heap;
  assert.ok(grown < 4e6 + 200 * share, `the heap grew by ${grown} bytes in ${2 * share} requests`);
  process.stdout.write(`${4 * share} requests, ${paths} paths, ${counts.called} calls ` +
    `(${counts.background} of no request), ${alive} requests in memory, heap ${rounds.map((one) =>
      (one.heap / 1e6).toFixed(1)).join(' ')} MB\n`);
  process.exit(0);
}

main().catch((error) => {
  process.stderr.write(`FAIL: ${error.stack}\n`);
  process.exit(1);
});
