// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// Tests of examples/interop/node/cpt_trace.js, whose folder is the only argument: what belongs to a
// request, in a service with connections, threads and loops that serve all of them; and how it
// waited.
'use strict';

const assert = require('node:assert');
const dgram = require('node:dgram');
const {EventEmitter, once} = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const test = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const {Worker} = require('node:worker_threads');
const {ASK, PARENT, listen, close, get, until, readPath, pathWith, pair, trace} =
  require('./node_support.js');

// --- Waits ---

test('the queue of an agent is ‹queue›', async () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 1});
  const slow = (req, res) => setTimeout(() =>
    res.setHeader('critical-path-bin', pathWith(['b'])).end('ok'), 40);
  const {outer, end} = await pair(async ({callee}) => {
    await Promise.all([1, 2, 3].map((i) => get(callee, `/${i}`, {}, {agent})));
  }, {inner: slow});
  const {headers} = await get(outer, '/', {'critical-path': ASK});
  const {stacks, path: one, elapsedNs} = readPath(headers['critical-path-bin']);
  const queue = stacks['S: /;B: /3;‹1›'];
  const network = stacks['S: /;B: /3;‹2›'];
  assert.ok(queue.ms > 60, JSON.stringify(stacks)); // two calls of 40 ms before it
  assert.ok(network.ms > 30);
  assert.strictEqual(one.sumNs, elapsedNs);
  const alone = await get(outer, '/', {'critical-path': ASK});
  const first = Object.keys(readPath(alone.headers['critical-path-bin']).stacks);
  assert.ok(!first.includes('S: /;B: /1;‹1›'), first);
  agent.destroy();
  await end();
});

test('a call that gives up in the queue, at its timeout, or by other means', async () => {
  const agent = new http.Agent({maxSockets: 1});
  const {outer, end} = await pair(async ({req, callee}) => {
    const {port} = callee.address();
    const call = (target, use) => new Promise((resolve) => {
      const options = {port, host: '127.0.0.1', path: target, agent};
      const request = http.request(options, (res) => res.resume());
      request.on('error', resolve).on('close', resolve);
      use(request);
      request.end();
    });
    if (req.url === '/timeout') {
      await call('/1', (one) => one.setTimeout(30, () => one.destroy()));
    } else if (req.url === '/socket') { // as follow-redirects, below axios
      await call('/1', (one) => one.on('socket', (socket) => {
        socket.setTimeout(30);
        socket.on('timeout', () => socket.destroy());
      }));
    } else if (req.url === '/destroy') {
      await call('/1', (one) => setTimeout(() => one.destroy(), 30));
    } else {
      call('/1', (one) => setTimeout(() => one.destroy(), 60));
      await call('/2', (one) => setTimeout(() => one.destroy(), 30));
    }
  }, {inner: () => {}});
  const stacks = async (target) => readPath((await get(outer, target, {'critical-path': ASK}))
    .headers['critical-path-bin']).stacks;
  assert.ok('S: /timeout;B: /1;‹5›' in await stacks('/timeout'));
  assert.ok('S: /socket;B: /1;‹5›' in await stacks('/socket'));
  assert.strictEqual((await stacks('/destroy'))['S: /destroy;B: /1;‹4›'].reason, 5);
  assert.ok((await stacks('/queue'))['S: /queue;B: /2;‹1›'].ms > 20);
  agent.destroy();
  await end();
});

// --- What lives longer than a request ---

test('nothing of an answered request goes on, but what is bound to it', async () => {
  const bus = new EventEmitter();
  const calls = [];
  const {outer, seen, end} = await pair(async ({req, res, callee}) => {
    const call = (name) => calls.push(get(callee, `/${name}`, {}, {agent: false}));
    if (req.url !== '/first') {
      bus.emit('now');
      await get(callee, '/own');
      return;
    }
    const bound = trace.bind(() => call('bound'));
    const task = trace.bind(async () => {
      call('task');
      await null;
      setTimeout(() => call('task-over'), 5);
    });
    bus.once('ended', () => {
      bound();
      task();
    });
    bus.once('now', () => call('emitted'));
    setTimeout(() => call('timer'), 30);
    setTimeout(() => call('immediate'), 0);
    const loop = (async () => {
      await once(bus, 'ended');
      call('loop');
    })();
    loop.catch(() => {});
    res.end('done');
    call('after-end');
    bus.emit('ended');
  });
  const other = PARENT.replace('0af', '1af');
  const ask = {'critical-path': ASK};
  const got = await get(outer, '/first', {...ask, traceparent: PARENT, baggage: 'a=1'});
  const {stacks: only} = readPath(got.headers['critical-path-bin']);
  assert.deepStrictEqual(Object.keys(only), ['S: /first']);
  const next = await get(outer, '/second', {...ask, traceparent: other});
  const isSeen = (url) => seen.some((one) => one.url === url);
  await until(() => isSeen('/timer') && isSeen('/task-over'), 'calls');
  await Promise.all(calls);
  const sent = Object.fromEntries(seen.map((one) => [one.url, one]));
  for (const url of ['/timer', '/immediate', '/loop', '/after-end', '/task-over']) {
    assert.strictEqual(sent[url].traceparent, undefined, url);
    assert.strictEqual(sent[url].baggage, undefined, url);
  }
  for (const url of ['/bound', '/task']) assert.strictEqual(sent[url].traceparent, PARENT, url);
  assert.strictEqual(sent['/emitted'].traceparent, other); // that of who emits
  assert.strictEqual(sent['/own'].traceparent, other);
  for (const one of seen.filter(({url}) => !['/own', '/emitted'].includes(url))) {
    assert.strictEqual(one['critical-path'], undefined, one.url);
    assert.strictEqual(one['critical-path-nonce'], undefined, one.url);
  }
  const stacks = Object.keys(readPath(next.headers['critical-path-bin']).stacks);
  assert.ok(stacks.every((stack) => stack.startsWith('S: /second')), stacks);
  await end();
});

test('an answer that is still streamed has its traceparent, but no path', async () => {
  const {outer, seen, end} = await pair(async ({res, callee}) => {
    res.write('one');
    await get(callee, '/x');
    res.end('two');
    await get(callee, '/y');
  });
  await get(outer, '/', {'critical-path': ASK, traceparent: PARENT});
  await until(() => seen.length === 2, 'two calls');
  assert.deepStrictEqual(seen.map((one) => [one.traceparent, one['critical-path']]),
    [[PARENT, undefined], [undefined, undefined]]);
  await end();
});

test('a client that leaves ends its request', async () => {
  let go;
  const paths = [];
  const {outer, seen, end} = await pair(async ({res, callee}) => {
    res.on('close', () => go());
    await new Promise((resolve) => {
      go = resolve;
    });
    await get(callee, '/late');
  }, {options: {onPath: (one) => paths.push(one)}});
  const socket = net.connect(outer.address().port, '127.0.0.1');
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\ncritical-path: ${ASK}\r\n` +
    `traceparent: ${PARENT}\r\n\r\n`);
  await until(() => go !== undefined, 'the request');
  socket.destroy();
  await until(() => seen.length === 1, 'a call');
  assert.strictEqual(seen[0].traceparent, undefined);
  assert.strictEqual(paths.length, 1);
  await end();
});

test('events of a body belong to its request', async () => {
  const {outer, seen, end} = await pair(({req, callee}) => new Promise((resolve, reject) => {
    req.on('data', () => {}).on('end', () => get(callee, `${req.url}-call`).then(resolve, reject));
  }));
  const agent = new http.Agent({keepAlive: true, maxSockets: 1});
  const parents = ['aaa', 'bbb'].map((digits) => PARENT.replace('0af', digits));
  for (const [i, target] of ['/a', '/b'].entries()) {
    const {headers} = await get(outer, target, {'critical-path': ASK, traceparent: parents[i]},
      {agent, method: 'POST', body: 'x'.repeat(100000)});
    const stacks = Object.keys(readPath(headers['critical-path-bin']).stacks);
    assert.ok(stacks.includes(`S: ${target};B: ${target}-call;B: /;b`), stacks);
  }
  assert.deepStrictEqual(seen.map((one) => one.traceparent), parents);
  agent.destroy();
  await end();
});

test('events of a kept connection belong to who uses it now', async () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 1});
  const parents = ['1af', '2af'].map((one) => PARENT.replace('0af', one));
  let release;
  const {outer, seen, end} = await pair(async ({req, callee}) => {
    if (req.url === '/slow') { // makes the connection, and is still there when it breaks
      await get(callee, '/x', {}, {agent});
      await new Promise((resolve) => {
        release = resolve;
      });
      return;
    }
    await until(() => release !== undefined, 'the first');
    await new Promise((resolve, reject) => {
      const {port} = callee.address();
      const request = http.request({host: '127.0.0.1', port, path: '/drop', agent});
      request.on('error', () => get(callee, '/retry').then(resolve, reject));
      request.end();
    });
    release();
  }, {inner: (req, res) => {
    if (req.url === '/drop') req.socket.destroy();
    else res.setHeader('critical-path-bin', pathWith(['b'])).end('ok');
  }});
  const [slow, fast] = await Promise.all([
    get(outer, '/slow', {'critical-path': ASK, traceparent: parents[0]}),
    get(outer, '/fast', {'critical-path': ASK, traceparent: parents[1]}),
  ]);
  const sent = Object.fromEntries(seen.map((one) => [one.url, one.traceparent]));
  assert.deepStrictEqual(sent, {'/x': parents[0], '/drop': parents[1], '/retry': parents[1]});
  const stacks = [slow, fast]
    .map(({headers}) => Object.keys(readPath(headers['critical-path-bin']).stacks));
  assert.ok(stacks[0].every((stack) => !/drop|retry/.test(stack)), stacks[0]);
  assert.ok(stacks[1].includes('S: /fast;B: /retry;B: /;b'), stacks[1]);
  agent.destroy();
  await end();
});

test('sockets and threads that a request makes serve all', async () => {
  const echo = await new Promise((resolve) => {
    const server = net.createServer((socket) => socket.pipe(socket));
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
  let socket = null;
  let worker = null;
  const waiting = {socket: [], worker: []};
  const hold = new EventEmitter();
  const {outer, seen, end} = await pair(async ({req, callee}) => {
    if (socket === null) {
      socket = net.connect(echo.address().port, '127.0.0.1');
      socket.on('data', () => waiting.socket.splice(0).forEach((done) => done()));
      worker = new (require('node:worker_threads').Worker)(
        'require("worker_threads").parentPort.on("message", (m) => ' +
        'require("worker_threads").parentPort.postMessage(m))', {eval: true});
      worker.on('message', () => waiting.worker.splice(0).forEach((done) => done()));
    }
    const sends = {socket: () => socket.write('x'), worker: () => worker.postMessage(1)};
    for (const [kind, send] of Object.entries(sends)) {
      await new Promise((resolve, reject) => { // a client with callbacks
        waiting[kind].push(() => get(callee, `${req.url}-${kind}`).then(resolve, reject));
        send();
      });
    }
    if (req.url === '/first') await once(hold, 'release');
    else hold.emit('release');
  });
  const first = get(outer, '/first', {'critical-path': ASK, traceparent: PARENT});
  await until(() => seen.length === 2, 'the first calls');
  await get(outer, '/second', {'critical-path': ASK, traceparent: PARENT.replace('0af', '1af')});
  const {stacks} = readPath((await first).headers['critical-path-bin']);
  assert.ok(Object.keys(stacks).every((stack) => !stack.includes('second')), Object.keys(stacks));
  for (const one of seen.filter(({url}) => url.startsWith('/second'))) {
    assert.notStrictEqual(one.traceparent, PARENT, one.url);
  }
  assert.ok(worker instanceof Worker);
  socket.destroy();
  await worker.terminate();
  await end();
  await close(echo);
});

test('the listener of a socket of datagrams is of no request', async () => {
  const hold = new EventEmitter();
  const {port} = await new Promise((resolve) => {
    const free = dgram.createSocket('udp4').bind(0, '127.0.0.1', () => {
      const address = free.address();
      free.close(() => resolve(address));
    });
  });
  let socket = null;
  const waiting = [];
  const {outer, seen, end} = await pair(async ({req, callee}) => {
    if (socket === null) {
      socket = dgram.createSocket('udp4', () => waiting.splice(0).forEach((done) => done()));
      await new Promise((resolve) => socket.bind(port, '127.0.0.1', resolve));
    }
    await new Promise((resolve, reject) => {
      waiting.push(() => get(callee, `${req.url}-call`).then(resolve, reject));
      socket.send('x', port, '127.0.0.1');
    });
    if (req.url === '/first') await once(hold, 'release');
    else hold.emit('release');
  });
  const first = get(outer, '/first', {'critical-path': ASK, traceparent: PARENT});
  await until(() => seen.length === 1, 'the first call');
  await get(outer, '/second', {'critical-path': ASK, traceparent: PARENT.replace('0af', '1af')});
  const stacks = Object.keys(readPath((await first).headers['critical-path-bin']).stacks);
  assert.ok(stacks.every((stack) => !stack.includes('second')), stacks);
  assert.notStrictEqual(seen[1].traceparent, PARENT);
  socket.close();
  await end();
});

test('a connection that changes its protocol is an answer', async () => {
  const server = http.createServer().on('upgrade', (req, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n' +
      `critical-path-bin: ${pathWith(['u'])}\r\n\r\n`));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address();
  const {outer, service, end} = await pair(() => new Promise((resolve, reject) => {
    http.get({host: '127.0.0.1', port, path: '/up',
      headers: {connection: 'Upgrade', upgrade: 'x'}})
      .on('error', reject).on('upgrade', (answer, socket) => {
        socket.on('close', resolve).resume();
      });
  }));
  service.callees.set(`127.0.0.1:${port}`, 'U');
  const {headers} = await get(outer, '/', {'critical-path': ASK});
  const {stacks} = readPath(headers['critical-path-bin']);
  assert.ok('S: /;U: /up;B: /;u' in stacks, JSON.stringify(stacks));
  assert.ok(Object.values(stacks).every(({status}) => status === undefined));
  await end();
  await close(server);
});

test('streams of a session that another request made', async () => {
  const far = await listen((req, res) => setTimeout(() => res.end('ok'), 5), http2.createServer);
  let session = null;
  const {outer, seen, end} = await pair(({req, callee}) => new Promise((resolve, reject) => {
    session = session || http2.connect(`http://127.0.0.1:${far.address().port}`);
    const stream = session.request({':path': req.url});
    stream.resume().on('end', () => get(callee, req.url).then(resolve, reject));
  }));
  const parents = ['1af', '2af', '3af'].map((one) => PARENT.replace('0af', one));
  const answers = await Promise.all(parents.map((traceparent, i) =>
    get(outer, `/${i}`, {'critical-path': ASK, traceparent})));
  answers.forEach(({headers}, i) => {
    const stacks = Object.keys(readPath(headers['critical-path-bin']).stacks);
    assert.ok(stacks.includes(`S: /${i};B: /${i};B: /;b`), stacks);
    assert.ok(stacks.every((stack) => stack.startsWith(`S: /${i}`)), stacks);
  });
  for (const one of seen) assert.strictEqual(one.traceparent, parents[Number(one.url.slice(1))]);
  session.close();
  await end();
  await close(far);
});

test('detached() and bind() around a queue of jobs', async () => {
  const jobs = [];
  let wake = null;
  const start = async () => {
    for (;;) {
      while (jobs.length !== 0) await jobs.shift()();
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
  };
  const {outer, seen, end} = await pair(({req, callee}) => new Promise((resolve, reject) => {
    if (wake === null && jobs.length === 0) trace.detached(() => setImmediate(start));
    jobs.push(trace.bind(() => get(callee, req.url).then(resolve, reject)));
    if (wake !== null) wake();
  }));
  const parentOf = (i) => PARENT.replace('0af765', String(100000 + Number(i)));
  const answers = await Promise.all([...Array(20).keys()].map((i) =>
    get(outer, `/${i}`, {'critical-path': ASK, traceparent: parentOf(i)})));
  answers.forEach(({headers}, i) => {
    const stacks = Object.keys(readPath(headers['critical-path-bin']).stacks);
    const numbers = stacks.flatMap((stack) => stack.match(/[0-9]+(?=;|$)/g));
    assert.ok(numbers.every((number) => number === String(i)), stacks);
    assert.ok(stacks.includes(`S: /${i};B: /${i};B: /;b`), stacks);
  });
  for (const one of seen) assert.strictEqual(one.traceparent, parentOf(one.url.slice(1)));
  await end();
});

test('an ended request is not kept alive by what it began', async () => {
  v8.setFlagsFromString('--expose-gc');
  const gc = vm.runInNewContext('gc');
  const refs = [];
  const bus = new EventEmitter();
  const kept = [];
  const agent = new http.Agent({keepAlive: true});
  const {outer, end, service} = await pair(async ({req, res, callee}) => {
    await get(callee, '/x', {}, {agent});
    await trace.part('begin', async () => {
      kept.push(setInterval(() => {}, 1000), trace.bind(() => {}), req, res, new Promise(() => {}));
      bus.on('never', () => req);
      once(bus, 'ended').catch(() => {});
      kept.push(new trace.Call('B', '/never')); // no answer ever comes
      kept.push(http.get({port: callee.address().port, host: '127.0.0.1', path: '/hangs'})
        .on('error', () => {}));
    });
  }, {inner: (req, res) => {
    if (req.url !== '/hangs') res.setHeader('critical-path-bin', pathWith(['b'])).end('ok');
  }});
  const begin = service.begin.bind(service);
  service.begin = (...words) => {
    const request = begin(...words);
    refs.push(new WeakRef(request));
    return request;
  };
  for (let i = 0; i < 20; i++) await get(outer, '/', {'critical-path': ASK});
  assert.strictEqual(refs.length, 20);
  await until(() => {
    gc();
    return refs.every((ref) => ref.deref() === undefined);
  }, 'no request in memory');
  for (const one of kept) if (one.hasRef) clearInterval(one);
  agent.destroy();
  await end();
});

test('uninstall() leaves hooks of others', async () => {
  const {request} = http;
  trace.install();
  const ours = http.request;
  const theirs = (...words) => ours(...words);
  http.request = theirs;
  trace.uninstall();
  assert.strictEqual(http.request, theirs);
  const server = await listen((req, res) => res.end('ok'));
  assert.strictEqual((await get(server, '/')).body, 'ok');
  await close(server);
  http.request = request;
});
