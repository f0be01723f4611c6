// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// Tests of examples/interop/node/cpt_trace.js; its folder is the only argument. Times are those
// of a clock that the tests set, so no machine is too slow for them.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const test = require('node:test');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const ASK = '1;max=2048';

function newService(options = {}) {
  const clock = {nowNs: 1000n};
  const service = new trace.Service('S', {
    trust: ['127.0.0.0/8'], clock: () => clock.nowNs, ...options,
  });
  return {service, clock};
}

/** A path as "S: / 5, S: /;B: / 20". */
function text(one) {
  return one.segments.map(({frame, ns, reason}) => {
    const stack = one.stack(frame).map(({name, kind}) => (kind === 0 ? name : `${name}‹${kind}›`));
    return `${stack.join(';')} ${ns}${reason ? `r${reason}` : ''}`;
  }).join(', ');
}

function callee(ns, name = 'B: /') {
  const one = new trace.Path();
  one.append(one.frame(-1, name), BigInt(ns));
  return trace.encodeBase64(trace.encode(one, 2048, one.sumNs));
}

/** Runs a scenario in a request of a service whose clock it sets. */
function traced(scenario) {
  return async () => {
    const {service, clock} = newService();
    const request = service.begin('/', [ASK], '127.0.0.1');
    const began = clock.nowNs;
    const work = (ns) => {
      clock.nowNs += BigInt(ns);
    };
    const expect = (wanted) => {
      const {path: one, elapsedNs} = trace.decodeHeader(request.end());
      assert.strictEqual(text(one), wanted);
      assert.strictEqual(one.sumNs, clock.nowNs - began);
      assert.strictEqual(elapsedNs, one.sumNs);
      assert.strictEqual(service.counters.errors, 0);
    };
    await trace.current.run(request.root, () => scenario({work, expect, request, service}));
  };
}

test('parts and calls in sequence', traced(async ({work, expect}) => {
  work(5);
  await trace.part('a', async () => {
    work(1);
    const one = new trace.Call('B', '/');
    await null;
    work(20);
    one.reply(callee(16));
    work(2);
  });
  const one = new trace.Call('B', '/');
  work(7);
  one.reply();
  work(3);
  expect('S: / 5, S: /;S: a 1, S: /;S: a;B: / 16, S: /;S: a;B: /;‹2› 4, S: /;S: a 2, ' +
    'S: /;B: /;‹4› 7r1, S: / 3');
}));

test('of calls in parallel the last to end', traced(({work, expect, request}) => {
  const one = new trace.Call('B', '/');
  work(1);
  const two = new trace.Call('C', '/');
  work(9);
  two.reply(callee(9, 'C: /'));
  work(5);
  one.reply(callee(15));
  work(2);
  expect('S: /;B: / 15, S: / 2');
  assert.strictEqual(request.path.flags, 4);
}));

test('of promises that are awaited together the last', traced(async ({work, expect}) => {
  const run = (name, ns, waits) => trace.part(name, async () => {
    for (let i = 0; i < waits; i++) await null;
    work(ns);
  });
  await Promise.all([run('a', 10, 1), run('b', 10, 5), run('c', 10, 20)]);
  work(1);
  expect('S: /;S: c 30, S: / 1');
}));

test('what ends after the answer delayed nothing', traced(({work, expect}) => {
  const one = new trace.Call('B', '/');
  work(4);
  expect('S: / 4');
  one.reply(callee(4));
  assert.strictEqual(new trace.Call('B', '/').span, null);
}));

test('a call that outlives its part', traced(({work, expect}) => {
  let one;
  trace.part('begin', () => {
    work(2);
    one = new trace.Call('B', '/');
    work(3);
  });
  work(1);
  one.reply(callee(4));
  work(6);
  expect('S: /;S: begin 2, S: /;S: begin;B: / 4, S: / 6');
}));

test('failures', traced(async ({work, expect, request, service}) => {
  const end = (ns, finish) => {
    const one = new trace.Call('B', '/');
    work(ns);
    finish(one);
  };
  end(3, (one) => one.fail());
  end(4, (one) => one.fail(true));
  end(5, (one) => one.reply(callee(5), 503));
  end(6, (one) => one.reply(callee(6), 200, true));
  end(7, (one) => one.reply([callee(7), callee(7)]));
  end(8, (one) => one.reply('A'.repeat(5000)));
  end(9, (one) => one.reply('CAEY'));
  assert.throws(() => trace.part('a', () => {
    work(1);
    throw new RangeError('mine');
  }), RangeError);
  await assert.rejects(trace.part('a', async () => {
    work(1);
    throw new RangeError('mine');
  }), RangeError);
  request.bytesMax = 4096;
  expect('S: /;B: /;‹4› 3r5, S: /;B: /;‹5› 4, S: /;B: / 5, S: /;B: /;‹4› 6r6, ' +
    'S: /;B: /;‹4› 7r4, S: /;B: /;‹4› 8r3, S: /;B: /;‹4› 9r4, S: /;S: a 1, S: /;S: a 1');
  assert.deepStrictEqual(request.path.segments.slice(0, 3).map(({labels}) => labels.get(6)),
    ['UNAVAILABLE', 'DEADLINE', '503']);
  assert.strictEqual(service.counters.repliesRefused, 1);
}));

test('limits', traced(({work, request, service}) => {
  for (let i = 0; i < trace.SPANS_MAX + 3; i++) trace.part('a', () => work(1));
  request.end();
  assert.strictEqual(request.path.flags, 2);
  assert.strictEqual(request.path.sumNs, BigInt(trace.SPANS_MAX + 3));
  for (let i = 0; i < 2 * trace.NAMES_MAX; i++) service.nameOf('S', `p${i}`);
  assert.strictEqual(service.names.size, trace.NAMES_MAX);
  assert.strictEqual(service.nameOf('S', 'another'), null);
}));

test('who gets a path', () => {
  assert.strictEqual(new trace.Service('S').begin('/', [ASK], '127.0.0.1'), null);
  const {service} = newService({trust: ['10.0.0.0/8', 'fd00::/8']});
  for (const peer of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1']) {
    assert.notStrictEqual(service.begin('/', [ASK], peer), null, peer);
  }
  for (const peer of ['11.1.2.3', 'fe80::1', '', undefined, '10.1.2.3:80', '10.1.2']) {
    assert.strictEqual(service.begin('/', [ASK], peer), null, peer);
  }
  assert.strictEqual(service.begin('/', [ASK], '10.1.2.3', true), null);
  assert.strictEqual(service.begin('/', ['x'], '10.1.2.3'), null);
  assert.strictEqual(service.begin('/', [ASK, ASK], '10.1.2.3'), null);
  assert.strictEqual(service.counters.asksUntrusted, 7);
  assert.strictEqual(service.counters.asksMalformed, 2);
  assert.throws(() => new trace.Service('S', {trust: ['x']}), TypeError);
});

test('errors of ours are counted', () => {
  const broken = () => {
    throw new Error('broken');
  };
  for (const options of [{trust: broken}, {method: broken}]) {
    const {service} = newService(options);
    assert.strictEqual(service.begin('/', [ASK], '127.0.0.1'), null);
    assert.strictEqual(service.counters.errors, 1);
  }
  const {service} = newService({onPath: broken});
  assert.notStrictEqual(service.begin('/', [ASK], '127.0.0.1').end(), null);
  assert.strictEqual(service.counters.errors, 1);
});

// --- Over sockets ---

function listen(listener) {
  return new Promise((resolve) => {
    const server = http.createServer(listener);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

function close(server) {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

/** The answer to a GET: status, headers, body. */
function get(server, target, headers = {}, options = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: '127.0.0.1', port: server.address().port, path: target, headers, ...options,
    }, (answer) => {
      let body = '';
      answer.on('data', (piece) => {
        body += piece;
      });
      answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers, body}));
    });
    request.on('error', reject);
    request.end();
  });
}

test('heads in all forms', async () => {
  const {service} = newService();
  const forms = {
    '/end': (res) => res.end('body'),
    '/write': (res) => {
      res.write('bo');
      res.end('dy');
    },
    '/head': (res) => res.writeHead(200, {'X-Y': 'z', 'Critical-Path-Bin': 'inner'}).end('body'),
    '/array': (res) => res.writeHead(200, ['X-Y', 'z', 'critical-path-bin', 'inner']).end('body'),
    '/vary-array': (res) => res.writeHead(200, ['Vary', 'Accept']).end('body'),
    '/vary-object': (res) => res.writeHead(200, {vary: 'Accept'}).end('body'),
    '/vary-set': (res) => res.setHeader('Vary', 'Accept').end('body'),
    '/reason': (res) => res.writeHead(200, 'Fine', {'X-Y': 'z'}).end('body'),
    '/set': (res) => {
      res.setHeader('critical-path-bin', 'inner');
      res.end('body');
    },
    '/flush': (res) => {
      res.flushHeaders();
      res.end('body');
    },
  };
  const server = await listen(trace.handler(service, (req, res) => forms[req.url](res)));
  for (const form of Object.keys(forms)) {
    const asked = await get(server, form, {'critical-path': ASK});
    const {path: one} = trace.decodeHeader(asked.headers['critical-path-bin'] || '');
    assert.strictEqual(one.segments.length, 0); // the clock stands
    assert.strictEqual(asked.body, 'body', form);
    assert.strictEqual(asked.headers.vary,
      form.startsWith('/vary') ? 'Accept, critical-path' : 'critical-path', form);
    for (const headers of [{}, {'critical-path': 'x'}, {'critical-path': ASK, via: '1.1 proxy'},
      {'critical-path': ASK, 'x-forwarded-for': '1.2.3.4'}]) {
      const unasked = await get(server, form, headers);
      assert.strictEqual(unasked.headers['critical-path-bin'], undefined, form);
      assert.strictEqual(unasked.body, 'body', form);
    }
  }
  assert.strictEqual(service.counters.errors, 0);
  await close(server);
});

/** The values of wire/forwarding-headers.txt for `is`, `begins`, `ends`, `yes` or `no`. */
function forwardingList(what) {
  const file = path.join(process.env.CPT_SOURCE, 'wire/forwarding-headers.txt');
  return fs.readFileSync(file, 'utf8').split('\n').map((line) => line.split(/ +/))
    .filter(([word]) => word === what).map(([, value]) => value);
}

test('headers of proxies', async () => {
  const {service} = newService();
  const server = await listen(trace.handler(service, (req, res) => res.end('body')));
  const isTraced = async (headers) =>
    (await get(server, '/', {'critical-path': ASK, ...headers}))
      .headers['critical-path-bin'] !== undefined;
  const filler = (count) =>
    Object.fromEntries(Array.from({length: count}, (_, i) => [`x-${i}`, '1']));
  assert.ok(forwardingList('ends').length > 5 && forwardingList('yes').length > 20);
  for (const name of forwardingList('yes')) {
    assert.strictEqual(await isTraced({[name]: '192.0.2.1'}), false, name);
  }
  for (const name of forwardingList('no')) {
    if (name !== 'critical-path') {
      assert.strictEqual(await isTraced({[name]: '192.0.2.1'}), true, name);
    }
  }
  assert.strictEqual(await isTraced(filler(100)), true);
  assert.strictEqual(await isTraced(filler(128)), false);
  assert.strictEqual(service.counters.errors, 0);
  await close(server);
});

/** A callee that answers as its URL says, and a traced service in front of it. */
async function pair(scenario, replies = [callee(1, 'B: /x')]) {
  const asks = [];
  const contexts = [];
  const waiting = [];
  const inner = await listen((req, res) => {
    asks.push(req.headers['critical-path']);
    contexts.push([req.headers.traceparent, req.headers.tracestate]);
    if (req.url === '/drop') {
      req.socket.destroy();
    } else if (req.url === '/slow') {
      waiting.push(res);
    } else {
      res.writeHead(req.url === '/none' ? 404 : 200,
        replies.flatMap((reply) => ['critical-path-bin', reply]));
      res.end('ok');
    }
  });
  const authority = `127.0.0.1:${inner.address().port}`;
  const paths = [];
  const service = new trace.Service('S', {
    trust: ['127.0.0.1'], callees: {[authority]: 'B'}, onPath: (one) => paths.push(one),
  });
  trace.install();
  const outer = await listen(trace.handler(service, async (req, res) => {
    try {
      res.end(await scenario({req, res, inner, authority, service}));
    } catch (error) {
      res.statusCode = 500;
      res.end(error.message);
    }
  }));
  const ask = async (target = '/', more = {}) => {
    const answer = await get(outer, target, {'critical-path': ASK, ...more});
    const value = answer.headers['critical-path-bin'];
    if (value === undefined) return {...answer, stacks: []};
    const {path: one, elapsedNs} = trace.decodeHeader(value);
    assert.strictEqual(one.sumNs, elapsedNs);
    return {...answer, one, stacks: text(one).split(', ').map((s) => s.replace(/ [0-9r]*$/, ''))};
  };
  const end = async () => {
    trace.uninstall();
    assert.strictEqual(service.counters.errors, 0);
    await close(outer);
    await close(inner);
  };
  return {ask, asks, contexts, end, outer, service, paths};
}

test('http.request, a connection that is kept', async () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 1});
  const two = await pair(async ({inner}) => {
    const forced = {'critical-path': '1;forced'};
    const one = await get(inner, '/x?y=1', forced, {agent});
    await get(inner, '/none', {}, {agent});
    return one.body;
  });
  for (let i = 0; i < 3; i++) {
    const {body, stacks} = await two.ask();
    assert.strictEqual(body, 'ok');
    assert.deepStrictEqual(stacks.filter((stack) => stack.endsWith('B: /x')),
      ['S: /;B: /x', 'S: /;B: /none;B: /x']);
  }
  assert.deepStrictEqual(two.asks, Array(6).fill(ASK));
  agent.destroy();
  await two.end();
});

test('http.get and fetch', async () => {
  const two = await pair(async ({inner, authority}) => {
    await new Promise((resolve) => {
      http.get({host: '127.0.0.1', port: inner.address().port, path: '/x'}, (answer) => {
        answer.resume().on('end', resolve);
      });
    });
    return (await fetch(`http://${authority}/x`)).text();
  });
  const {body, stacks} = await two.ask();
  assert.strictEqual(body, 'ok');
  assert.deepStrictEqual(two.asks, [ASK, ASK]);
  assert.strictEqual(stacks.filter((stack) => stack === 'S: /;B: /x').length, 2, stacks);
  await two.end();
});

test('the trace context goes on, but not beside one of the application', async () => {
  const came = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const own = '00-11111111111111111111111111111111-2222222222222222-00';
  const two = await pair(async ({inner, authority}) => {
    await get(inner, '/x');
    await (await fetch(`http://${authority}/x`)).text();
    await get(inner, '/x', {TraceParent: own});
    await (await fetch(`http://${authority}/x`, {headers: {traceparent: own}})).text();
    return 'ok';
  });
  const wanted = [[came, 'a=1 , b=2'], [came, 'a=1 , b=2'], [own, undefined], [own, undefined]];
  const headers = {traceparent: came, tracestate: 'a=1 , b=2'};
  await two.ask('/', headers);
  assert.deepStrictEqual(two.contexts, wanted);
  await get(two.outer, '/', headers); // not traced
  assert.deepStrictEqual(two.contexts, [...wanted, ...wanted]);
  await get(two.outer, '/', {traceparent: 'x'});
  await get(two.outer, '/', {traceparent: came, tracestate: '='});
  assert.strictEqual(two.service.counters.traceparentsRefused, 1);
  assert.strictEqual(two.service.counters.tracestatesRefused, 1);
  await two.end();
});

test('strangers are not asked', async () => {
  const two = await pair(async ({inner, service}) => {
    service.callees.clear();
    return (await get(inner, '/x', {})).body;
  });
  const {stacks} = await two.ask();
  assert.deepStrictEqual(two.asks, [undefined]);
  assert.match(stacks.join(), /S: \/;127.0.0.1:[0-9]+: \/x;‹4›/);
  await two.end();
});

test('failures pass', async () => {
  const closed = net.createServer();
  await new Promise((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const {port} = closed.address();
  await new Promise((resolve) => closed.close(resolve));
  const two = await pair(async ({inner, service}) => {
    service.callees.set(`127.0.0.1:${port}`, 'C');
    await assert.rejects(get(inner, '/drop'), {code: 'ECONNRESET'});
    await assert.rejects(get(inner, '/slow', {}, {signal: AbortSignal.timeout(5)}));
    await assert.rejects(get({address: () => ({port})}, '/x'), {code: 'ECONNREFUSED'});
    await assert.rejects(fetch(`http://127.0.0.1:${port}/y`));
    return 'done';
  });
  const {body, stacks} = await two.ask();
  assert.strictEqual(body, 'done');
  for (const wanted of ['S: /;B: /drop;‹4›', 'S: /;B: /slow;‹5›', 'S: /;C: /x;‹4›',
    'S: /;C: /y;‹4›']) {
    assert.ok(stacks.includes(wanted), `${wanted} in ${stacks}`);
  }
  await two.end();
});

test('hostile replies change nothing', async () => {
  for (const replies of [['!'], ['A'], ['CAEY'], ['A'.repeat(9000)], [callee(1), callee(1)], ['']]) {
    const two = await pair(async ({inner}) => (await get(inner, '/x')).body, replies);
    const {status, body, stacks} = await two.ask();
    assert.strictEqual(`${status} ${body}`, '200 ok');
    assert.ok(stacks.includes('S: /;B: /x;‹4›'), stacks);
    await two.end();
  }
});

test('errors of the handler pass', async () => {
  const two = await pair(async () => {
    throw new Error('mine');
  });
  const {status, body, stacks} = await two.ask();
  assert.strictEqual(`${status} ${body}`, '500 mine');
  assert.deepStrictEqual(stacks, ['S: /']);
  await two.end();
});

test('twenty requests at once stay apart', async () => {
  const two = await pair(async ({req, inner, authority}) => {
    const mine = req.url;
    await trace.part(mine, async () => {
      for (let i = 0; i < 2; i++) {
        await get(inner, mine);
        await fetch(`http://${authority}${mine}`).then((answer) => answer.text());
      }
    });
    return mine;
  });
  const answers = await Promise.all([...Array(20).keys()].map((i) => two.ask(`/r${i}`)));
  answers.forEach(({body, stacks}, i) => {
    assert.strictEqual(body, `/r${i}`);
    const call = `S: /r${i};S: /r${i};B: /r${i};B: /x`;
    assert.strictEqual(stacks.filter((stack) => stack === call).length, 4, stacks);
    assert.ok(stacks.every((stack) => stack.startsWith(`S: /r${i}`) &&
      (stack.match(/r[0-9]+/g) || []).every((word) => word === `r${i}`)), stacks);
  });
  await two.end();
});

test('a client that leaves', async () => {
  let release;
  const two = await pair(() => new Promise((resolve) => {
    release = resolve;
  }));
  const socket = net.connect(two.outer.address().port, '127.0.0.1');
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\ncritical-path: ${ASK}\r\n\r\n`);
  while (release === undefined) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  release('late');
  release = undefined;
  const next = two.ask();
  while (release === undefined) await new Promise((resolve) => setImmediate(resolve));
  release('next');
  const {body, stacks} = await next;
  assert.strictEqual(body, 'next');
  assert.deepStrictEqual(stacks, ['S: /']);
  await two.end();
});
