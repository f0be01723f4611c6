// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// Tests of examples/interop/node/cpt_trace.js, whose folder is the only argument: its headers
// beside those of others. The nonce, the room that is left for a path, who is heeded, what is
// passed on, and what a callee is called.
'use strict';

const assert = require('node:assert');
const {once} = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const {ASK, PARENT, listen, close, get, readPath, pathWith, pair, trace} =
  require('./node_support.js');

// --- The ask and the path, byte for byte ---

test('nonces', () => {
  assert.strictEqual(trace.parseNonce(['00000000000000ff']), 255n);
  for (const values of [[], ['0'.repeat(16)], ['00000000000000FF'], ['ff'], ['00000000000000ff '],
    ['00000000000000ff', '00000000000000ff'], ['00000000000000ff,00000000000000ff'], ['']]) {
    assert.strictEqual(trace.parseNonce(values), 0n, values);
  }
});

test('the nonce is in each form of a path', () => {
  const one = new trace.Path();
  for (let i = 0; i < 50; i++) one.append(one.frame(one.frame(-1, 'S: /'), `S: p${i}`), 1000n);
  const nonce = 0xfedcba9876543210n;
  const whole = trace.encode(one, 4096, one.sumNs, nonce).length;
  for (let max = 0; max <= whole + 1; max++) {
    const data = trace.encode(one, max, one.sumNs, nonce);
    if (data === null) {
      assert.ok(max < 20, max);
      continue;
    }
    assert.ok(data.length <= max);
    const {path: read, nonce: its} = trace.decode(data);
    assert.strictEqual(its, nonce);
    assert.strictEqual(read.sumNs, one.sumNs);
  }
  const plain = trace.encode(one, 4096, one.sumNs);
  assert.strictEqual(whole, plain.length + 10);
  const tail = (...bytes) => trace.decode(Buffer.concat([plain, Buffer.from(bytes)]));
  const twice = tail(0x99, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0x99, 1, 2, 0, 0, 0, 0, 0, 0, 0);
  assert.strictEqual(twice.nonce, 2n);
  assert.strictEqual(tail(0x99, 1, 0, 0, 0, 0, 0, 0, 0, 0).nonce, 0n);
  for (const bytes of [[0x98, 1, 1], [0x9a, 1, 1, 1], [0x9d, 1, 1, 1, 1, 1], [0x99, 1, 1, 1]]) {
    assert.throws(() => tail(...bytes), trace.Refused);
  }
});

test('drags are read', () => {
  const one = new trace.Path();
  for (let i = 0; i < 6; i++) one.append(one.frame(-1, 'S: /'), BigInt(10 + i));
  const data = trace.encode(one);
  const drags = (...numbers) => trace.decode(Buffer.concat([data,
    Buffer.from([0x92, 1, numbers.length, ...numbers])])).path.segments.map(({drag}) => drag);
  assert.deepStrictEqual(drags(1, 7, 1, 2, 0, 100), [0n, 4n, 4n, null, 14n, 15n]);
  assert.deepStrictEqual(drags(15, 1), [10n, 11n, 12n, 13n, 14n, 15n]);
  assert.deepStrictEqual(drags(), Array(6).fill(null));
  assert.ok(trace.decode(data).path.segments.every(({drag}) => drag === null));
  assert.throws(() => drags(0, 0, 0, 0, 0, 0, 0), trace.Refused);
});

// --- Room among other headers ---

/** A path of more bytes than any budget: a part for each of many names. */
function fill() {
  const work = () => {
    const end = process.hrtime.bigint() + 1000n;
    while (process.hrtime.bigint() < end);
  };
  for (let i = 0; i < 300; i++) trace.part(`a part with a long name, number ${i}`, work);
}

const FORMS = {
  set: (res, headers) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    res.end('body');
  },
  object: (res, headers) => res.writeHead(200, Object.fromEntries(headers)).end('body'),
  reason: (res, headers) => res.writeHead(200, 'Fine', Object.fromEntries(headers)).end('body'),
  array: (res, headers) => res.writeHead(200, headers.flat()).end('body'),
  pairs: (res, headers) => res.writeHead(200, headers).end('body'),
  flushed: (res, headers) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    res.flushHeaders();
    res.end('body');
  },
  written: (res, headers) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    res.write('bo');
    res.end('dy');
  },
  both: (res, headers) => {
    res.setHeader('x-0', 'overridden '.repeat(9));
    for (const [name, value] of headers.slice(1)) res.setHeader(name, value);
    res.writeHead(200, Object.fromEntries(headers.slice(0, 1))).end('body');
  },
};

/** Headers of that many bytes together, with their line ends. */
function headersOf(bytes) {
  const headers = [];
  for (let i = 0; bytes > 0; i++) {
    const name = `x-${i}`;
    const value = 'v'.repeat(Math.max(1, Math.min(900, bytes) - name.length - 4));
    headers.push([name, value]);
    bytes -= name.length + 4 + value.length;
  }
  return headers;
}

/** The bytes of a head as it came, with the line of its status. */
function headBytes(raw) {
  return 'HTTP/1.1 200 OK'.length + 4 + raw.reduce((sum, text) => sum + text.length + 2, 0);
}

for (const [form, send] of Object.entries(FORMS)) {
  test(`all headers of an answer fit a proxy: ${form}`, async () => {
    const {outer, end, service} = await pair(async ({req, res}) => {
      fill();
      send(res, headersOf(Number(req.url.slice(1))));
    });
    let paths = 0;
    for (const bytes of [0, 200, 800, 1200, 2000, 2700, 3000, 3300, 3450, 3500, 3560, 3600, 4000,
      7000]) {
      const {headers, raw, body} = await get(outer, `/${bytes}`, {'critical-path': ASK});
      const value = headers['critical-path-bin'];
      assert.strictEqual(body, 'body');
      assert.strictEqual(headersOf(bytes).every(([name, text]) => headers[name] === text), true);
      assert.strictEqual(headers.vary, value === undefined ? undefined : 'critical-path');
      if (value !== undefined) {
        paths++;
        assert.ok(headBytes(raw) <= 4096 - 512 + 130, `${headBytes(raw)}`); // Date, Connection …
        assert.ok(value.length > Math.min(2600, 3400 - bytes) - 200, `${bytes} ${value.length}`);
        assert.ok(bytes < 3560);
      } else {
        assert.ok(bytes > 3400, bytes);
      }
    }
    assert.ok(paths >= 8, paths);
    assert.ok(service.counters.pathsWithoutRoom >= 3);
    await end();
  });
}

test('the target of the request counts as a header: nginx that caches keeps both', async () => {
  const {outer, end} = await pair(async ({res}) => {
    fill();
    res.end('body');
  });
  for (const [bytes, isThere] of [[10, true], [1500, true], [3000, true], [3700, false]]) {
    const {headers, raw} = await get(outer, `/?${'q'.repeat(bytes)}`, {'critical-path': ASK});
    assert.strictEqual('critical-path-bin' in headers, isThere);
    if (isThere) assert.ok(headBytes(raw) <= 4096 - 512 + 130 - bytes);
  }
  await end();
});

test('a header with many values, other words of Vary, and a limit of one\'s own', async () => {
  const cookies = Array.from({length: 5}, (_, i) => `c${i}=${'v'.repeat(500)}`);
  const answer = async (options, send) => {
    const {outer, end} = await pair(async ({res}) => {
      fill();
      send(res);
    }, {options});
    const got = await get(outer, '/', {'critical-path': ASK});
    await end();
    return got;
  };
  const tight = await answer({}, (res) => res.setHeader('Set-Cookie', cookies).end());
  assert.deepStrictEqual(tight.headers['set-cookie'], cookies);
  assert.ok(headBytes(tight.raw) <= 4096 - 512 + 130);
  assert.ok(tight.headers['critical-path-bin'].length < 1300);
  const pairs = await answer({}, (res) =>
    res.writeHead(200, cookies.map((cookie) => ['Set-Cookie', cookie])).end());
  assert.deepStrictEqual(pairs.headers['set-cookie'], cookies);
  const wide = await answer({headersBytesMax: 16384},
    (res) => res.setHeader('Set-Cookie', cookies).end());
  assert.ok(wide.headers['critical-path-bin'].length > 2600);
  const many = (count) => (res) =>
    res.setHeader('Set-Cookie', Array.from({length: count}, (_, i) => `c${i}=1`)).end();
  assert.ok('critical-path-bin' in (await answer({}, many(38))).headers);
  assert.ok(!('critical-path-bin' in (await answer({}, many(48))).headers)); // Varnish: 54
  assert.ok('critical-path-bin' in (await answer({headersBytesMax: 8192}, many(48))).headers);
  const none = await answer({headersBytesMax: 580}, (res) => res.end());
  assert.strictEqual(none.headers['critical-path-bin'], undefined);
  assert.strictEqual(none.headers.vary, undefined);
  for (const [given, wanted] of [['Accept', 'Accept, critical-path'], ['*', '*'],
    ['a, Critical-Path', 'a, Critical-Path'], [['a', 'b'], 'a, b, critical-path']]) {
    const {headers} = await answer({}, (res) => res.setHeader('Vary', given).end());
    assert.strictEqual(headers.vary, wanted);
  }
});

// Node warns once: so this is the first test with HTTP/2.
test('a path over HTTP/2 warns of nothing', async () => {
  const warnings = [];
  const note = (warning) => warnings.push(warning.message);
  process.on('warning', note);
  const server = await listen(trace.handler(new trace.Service('S', {role: 'inner'}),
    (req, res) => res.end()), http2.createServer);
  const session = http2.connect(`http://127.0.0.1:${server.address().port}`);
  const stream = session.request({':path': '/', 'critical-path': ASK});
  const [headers] = await once(stream.resume(), 'response');
  await new Promise(setImmediate);
  assert.ok(headers['critical-path-bin']);
  assert.deepStrictEqual(warnings, []);
  process.removeListener('warning', note);
  session.close();
  await close(server);
});

test('over HTTP/2, too', async () => {
  const service = new trace.Service('S', {trust: ['127.0.0.1']});
  const server = await listen(trace.handler(service, (req, res) => {
    fill();
    FORMS[req.url.split('/')[1]](res, headersOf(Number(req.url.split('/')[2])));
  }), http2.createServer);
  const session = http2.connect(`http://127.0.0.1:${server.address().port}`);
  for (const form of Object.keys(FORMS).filter((one) => one !== 'pairs')) {
    for (const bytes of [0, 1200, 3000, 4000]) {
      const stream = session.request({':path': `/${form}/${bytes}`, 'critical-path': ASK,
        'critical-path-nonce': '00000000000000aa'});
      const [headers] = await once(stream, 'response');
      const value = headers['critical-path-bin'];
      stream.resume();
      await once(stream, 'end');
      assert.strictEqual(headers[':status'], 200);
      assert.strictEqual(value === undefined, bytes === 4000, `${form} ${bytes}`);
      if (value === undefined) continue;
      const size = Object.entries(headers)
        .reduce((sum, [name, text]) => sum + name.length + `${text}`.length + 4, 0);
      assert.ok(size <= 4096 - 512 + 130, `${form} ${bytes}: ${size}`);
      assert.strictEqual(trace.decodeHeader(value).nonce, 0xaan);
    }
  }
  assert.strictEqual(service.counters.errors, 0);
  session.close();
  await close(server);
});

// --- Stale paths ---

test('each attempt has a nonce of its own, and the path of another is none', async () => {
  const nonces = [];
  const {outer, end, service, seen} = await pair(async ({req, callee, authority}) => {
    if (req.url === '/fetch') await (await fetch(`http://${authority}/x`)).text();
    else await get(callee, '/x', {'Critical-Path-Nonce': '00000000000000bb'});
  }, {inner: (req, res) => {
    const nonce = req.headers['critical-path-nonce'];
    nonces.push(nonce);
    const say = [`0x${nonce || 0}`, '0x1', '0x0'][(nonces.length - 1) % 3];
    res.setHeader('critical-path-bin', pathWith(['b'], BigInt(say))).end('ok');
  }});
  for (const target of ['/x', '/fetch']) {
    for (const wanted of [{b: true}, {reason: 6}, {b: true}]) { // its own; another; an older callee
      const {headers} = await get(outer, target, {'critical-path': ASK});
      const {stacks} = readPath(headers['critical-path-bin']);
      const frame = `S: ${target};B: /x`;
      assert.strictEqual(`${frame};B: /;b` in stacks, wanted.b === true, Object.keys(stacks));
      assert.strictEqual((stacks[`${frame};‹4›`] || {}).reason, wanted.reason);
    }
  }
  assert.strictEqual(service.counters.repliesStale, 2);
  assert.strictEqual(service.counters.repliesRefused, 0);
  assert.strictEqual(new Set(nonces).size, 6);
  assert.ok(nonces.every((nonce) => /^(?!0{16})[0-9a-f]{16}$/.test(nonce)), nonces);
  assert.ok(seen.every((headers) => headers['critical-path'] === ASK));
  await get(outer, '/x'); // without an ask
  assert.strictEqual(nonces[6], undefined);
  await end();
});

test('a nonce comes back, unless it is malformed', async () => {
  const {outer, end} = await pair(async () => {});
  const nonceOf = async (value) => {
    const {headers} = await get(outer, '/', {'critical-path': ASK, 'critical-path-nonce': value});
    return trace.decodeHeader(headers['critical-path-bin']).nonce;
  };
  assert.strictEqual(await nonceOf('fedcba9876543210'), 0xfedcba9876543210n);
  for (const value of ['x', '', '0'.repeat(16), ['00000000000000ff', '00000000000000ff'],
    '00000000000000ff, 00000000000000ff', '00000000000000FF']) {
    assert.strictEqual(await nonceOf(value), 0n, value);
  }
  await end();
});

// --- Who is trusted, and what passes through ---

const PROXIED = {via: '1.1 varnish', 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1'};
const FOREIGN = {b3: '80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1', 'X-B3-TraceId': 'ab12',
  'X-B3-Sampled': '1', baggage: 'user=alice;p=1, k=%20'};

test('roles', async () => {
  const ask = {'critical-path': ASK};
  const isTraced = async (options, headers) => {
    const {outer, end} = await pair(async () => {}, {options});
    const got = await get(outer, '/', {...ask, ...headers});
    await end();
    return got.headers['critical-path-bin'] !== undefined;
  };
  assert.strictEqual(await isTraced({}, PROXIED), false);
  assert.strictEqual(await isTraced({trustsForwarded: true}, PROXIED), true);
  assert.strictEqual(await isTraced({trustsForwarded: true, trust: []}, PROXIED), false);
  assert.strictEqual(await isTraced({trustsForwarded: true, trust: ['10.0.0.0/8']}, {}), false);
  assert.strictEqual(await isTraced({role: 'inner', trust: []}, PROXIED), true);
  assert.strictEqual(await isTraced({role: 'inner', trust: []}, {}), true);
  assert.throws(() => new trace.Service('S', {role: 'inside'}), TypeError);
  const file = path.join(process.env.CPT_SOURCE, 'wire/forwarding-headers.txt');
  const names = fs.readFileSync(file, 'utf8').match(/(?<=^yes +)\S+/gm);
  assert.ok(names.length > 20);
  for (const options of [{role: 'inner', trust: []}, {trustsForwarded: true}]) {
    const {outer, end} = await pair(async () => {}, {options});
    for (const name of names) {
      const got = await get(outer, '/', {...ask, [name]: '192.0.2.1'});
      assert.notStrictEqual(got.headers['critical-path-bin'], undefined, name);
    }
    await end();
  }
});

test('what passes through, and what does not', async () => {
  const experiment = 'delay=5000000;at="9f86d081884c7d65";burn';
  const came = `1;max=1500;drag;${experiment};graph="9f86d081884c7d66"`;
  const call = async ({callee, authority}) => {
    await get(callee, '/x');
    await (await fetch(`http://${authority}/x`)).text();
  };
  const seenWith = async (options, headers) => {
    const {outer, seen, end, service} = await pair(call, {options});
    const got = await get(outer, '/', headers);
    assert.strictEqual(got.body, 'done');
    await end();
    return {seen, service};
  };
  const all = {'critical-path': came, traceparent: PARENT, ...FOREIGN};
  for (const options of [{}, {role: 'inner', trust: []}]) {
    for (const ask of [true, false]) {
      const headers = {...all};
      if (!ask) delete headers['critical-path'];
      const {seen} = await seenWith(options, headers);
      assert.strictEqual(seen.length, 2);
      for (const one of seen) {
        assert.strictEqual(one['critical-path'], ask ? `1;max=1500;${experiment};drag` : undefined);
        assert.strictEqual(one.traceparent, PARENT);
        for (const [name, value] of Object.entries(FOREIGN)) {
          assert.strictEqual(one[name.toLowerCase()], value, name);
        }
      }
    }
  }
  for (const [options, more] of [[{trust: []}, {}], [{}, PROXIED]]) { // strangers
    const {seen} = await seenWith(options, {...all, ...more});
    for (const one of seen) {
      assert.strictEqual(one.traceparent, PARENT);
      for (const name of ['critical-path', 'critical-path-nonce', ...Object.keys(FOREIGN)]) {
        assert.strictEqual(one[name.toLowerCase()], undefined, name);
      }
    }
  }
  const odd = {...FOREIGN, b3: ['0', '1'], baggage: ['a=1', 'b=2'],
    'x-b3-spanid': 'x'.repeat(9000)};
  const {seen: [one], service} = await seenWith({role: 'inner'}, odd);
  assert.deepStrictEqual([one.b3, one.baggage, one['x-b3-spanid'], one['x-b3-traceid']],
    [undefined, 'a=1,b=2', undefined, 'ab12']);
  assert.strictEqual(service.counters.passedRefused, 2);
});

test('an ask that a gateway copies does not go on', async () => {
  for (const [options, isCallee] of [[{trust: []}, true], [{}, false]]) {
    const {outer, seen, end} = await pair(async ({req, callee, authority}) => {
      const {host, connection, ...copied} = req.headers;
      await get(callee, '/x', copied);
      await (await fetch(`http://${authority}/x`, {headers: copied})).text();
      assert.ok(host && connection);
    }, {options, isCallee});
    const ask = `${ASK};forced;delay=5000000;at="9f86d081884c7d65"`;
    const {body} = await get(outer, '/', {'critical-path': ask, 'x-other': '1',
      'critical-path-nonce': '00000000000000ff'});
    assert.strictEqual(body, 'done');
    for (const one of seen) {
      assert.deepStrictEqual([one['critical-path'], one['critical-path-nonce'], one['x-other']],
        [undefined, undefined, '1']);
    }
    assert.strictEqual(seen.length, 2);
    await end();
  }
});

test('a call whose headers leave no room is not asked', async () => {
  const longer = (bytes) => ({'x-own': 'p'.repeat(bytes)});
  const many = (count) => Object.fromEntries(Array.from({length: count}, (_, i) => [`x-${i}`, '1']));
  for (const [own, isAsked] of [[longer(6300), true], [longer(8100), false], [many(34), true],
    [many(44), false]]) {
    const {outer, seen, service, end} = await pair(async ({callee, authority}) => {
      await get(callee, '/x', own);
      await (await fetch(`http://${authority}/x`, {headers: own})).text();
    }, {});
    const {body, headers} = await get(outer, '/', {'critical-path': ASK});
    assert.strictEqual(body, 'done');
    assert.strictEqual(seen.length, 2);
    for (const one of seen) {
      assert.strictEqual(one['critical-path'] !== undefined, isAsked);
      assert.strictEqual(one['critical-path-nonce'] !== undefined, isAsked);
      assert.ok(one.traceparent !== undefined);
    }
    assert.strictEqual(service.counters.callsWithoutRoom, isAsked ? 0 : 2);
    const reasons = Object.values(readPath(headers['critical-path-bin']).stacks).map(({reason}) => reason);
    assert.strictEqual(reasons.includes(8), !isAsked);
    await end();
  }
});

test('what the application sets stands alone', async () => {
  const {outer, seen, end} = await pair(async ({callee, authority}) => {
    const own = {B3: '0', Baggage: 'mine=1'};
    await get(callee, '/x', own);
    await (await fetch(`http://${authority}/x`, {headers: own})).text();
  }, {options: {role: 'inner'}});
  await get(outer, '/', {traceparent: PARENT, ...FOREIGN});
  for (const one of seen) {
    assert.deepStrictEqual([one.b3, one.baggage, one['x-b3-traceid'], one.traceparent],
      ['0', 'mine=1', undefined, PARENT]);
  }
  await end();
});

// --- To whom a call goes ---

test('a callee has the name of whom the connection is made to', async () => {
  const evil = await listen((req, res) =>
    res.setHeader('critical-path-bin', pathWith(['secret'])).end('evil'));
  const {port} = evil.address();
  const socketPath = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'cpt-')), 's');
  const local = http.createServer((req, res) =>
    res.setHeader('critical-path-bin', pathWith(['u'])).end());
  await new Promise((resolve) => local.listen(socketPath, resolve));
  const {outer, end, authority, service} = await pair(async ({req, callee}) => {
    const claims = {host: authority, 'x-forwarded-host': authority};
    if (req.url === '/evil') {
      await get(evil, '/x', claims);
      await get(evil, `http://${authority}/x`, claims);
      await get(evil, '/x', claims, {setHost: false});
      await get(evil, '/x', {}, {headers: claims, hostname: '127.0.0.1', host: 'B'});
    } else {
      const url = `http://${authority}`;
      const plain = (...words) => new Promise((resolve) => {
        http.request(...words, (answer) => answer.resume().on('end', resolve)).end();
      });
      await get(callee, '/1', {host: 'evil.example'});
      await plain(`${url}/2`);
      await plain(new URL(`${url}/3`));
      await plain(`${url}/4`, {headers: {host: 'evil.example'}});
      await plain(`http://127.0.0.1/`, {port: callee.address().port, path: '/5'});
      await plain({hostname: '127.0.0.1', host: 'evil', path: '/6',
        agent: new http.Agent({}), defaultPort: callee.address().port});
      await plain({socketPath, path: '/7', headers: {host: authority}});
      await plain(`${url}/8`, {agent: new http.Agent({socketPath})});
      await plain('http://localhost/9', {agent: new http.Agent({port: callee.address().port,
        host: '127.0.0.1'})});
    }
  });
  service.callees.set(socketPath, 'U');
  const ask = {'critical-path': ASK};
  const evils = await get(outer, '/evil', ask);
  const stacks = Object.keys(readPath(evils.headers['critical-path-bin']).stacks);
  assert.ok(stacks.every((stack) => !/B: |secret/.test(stack)), stacks);
  assert.ok(stacks.includes(`S: /evil;127.0.0.1:${port}: /x;‹4›`), stacks);
  const good = await get(outer, '/good', ask);
  const found = Object.keys(readPath(good.headers['critical-path-bin']).stacks);
  for (const i of [1, 2, 3, 4, 5, 6, 9]) {
    assert.ok(found.includes(`S: /good;B: /${i};B: /;b`), `${i} in ${found}`);
  }
  for (const i of [7, 8]) assert.ok(found.includes(`S: /good;U: /${i};B: /;u`), found);
  await end();
  await close(evil);
  await close(local);
});

test('a method has the name of the path, whatever host the client says', async () => {
  const {outer, end} = await pair(async () => {});
  const got = await get(outer, 'http://evil.example/x?y', {'critical-path': ASK});
  assert.deepStrictEqual(Object.keys(readPath(got.headers['critical-path-bin']).stacks), ['S: /x']);
  await end();
});
