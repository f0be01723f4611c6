// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// What the tests of Node's implementation have in common. The folder of cpt_trace.js is their first
// argument.
'use strict';

const assert = require('node:assert');
const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const ASK = '1;max=2048';
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function listen(listener, make = http.createServer) {
  return new Promise((resolve) => {
    const server = make(listener);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

function close(server) {
  if (server.closeAllConnections) server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

/** The answer to a request: status, raw head, headers, body. */
function get(server, target, headers = {}, options = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: '127.0.0.1', port: server.address().port, path: target, headers, ...options,
    }, (answer) => {
      let body = '';
      answer.on('data', (piece) => {
        body += piece;
      });
      answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers,
        raw: answer.rawHeaders, body}));
    });
    request.on('error', reject);
    request.end(options.body);
  });
}

function until(isSo, what) {
  return new Promise((resolve, reject) => {
    const end = Date.now() + 60000;
    const look = () => {
      if (isSo()) resolve();
      else if (Date.now() > end) reject(new Error(`never: ${what}`));
      else setTimeout(look, 2);
    };
    look();
  });
}

function stackOf(one, frame) {
  return one.stack(frame).map(({name, kind}) => (kind === 0 ? name : `‹${kind}›`)).join(';');
}

/** {stack: [ns, reason]} of a path; the last segment of a stack counts. */
function readPath(value) {
  const decoded = trace.decodeHeader(value);
  const stacks = {};
  for (const {frame, ns, reason, labels} of decoded.path.segments) {
    const stack = stackOf(decoded.path, frame);
    stacks[stack] = {ms: Number(ns) / 1e6, reason, status: labels.get(6)};
  }
  return {...decoded, stacks};
}

function pathWith(names, nonce = 0n) {
  const one = new trace.Path();
  names.forEach((name, i) => one.append(one.frame(one.frame(-1, 'B: /'), name), BigInt(1000 + i)));
  return trace.encodeBase64(trace.encode(one, 4096, one.sumNs, nonce));
}

/**
 * A traced service S in front of a callee; `inner` answers as the callee, and by default with a
 * path. `seen` gets the headers of each call.
 */
async function pair(scenario, {inner = null, options = {}, isCallee = true} = {}) {
  const seen = [];
  const callee = await listen((req, res) => {
    seen.push({url: req.url, ...req.headers});
    if (inner !== null) return inner(req, res);
    return res.setHeader('critical-path-bin', pathWith(['b'])).end('ok');
  });
  const authority = `127.0.0.1:${callee.address().port}`;
  const service = new trace.Service('S', {
    trust: ['127.0.0.1'], callees: isCallee ? {[authority]: 'B'} : {}, ...options,
  });
  trace.install();
  const outer = await listen(trace.handler(service, async (req, res) => {
    try {
      await scenario({req, res, callee, authority, service});
      if (!res.writableEnded) res.end('done');
    } catch (error) {
      if (!res.headersSent) res.statusCode = 500;
      res.end(error.stack);
    }
  }));
  const end = async () => {
    trace.uninstall();
    assert.strictEqual(service.counters.errors, 0);
    await close(outer);
    await close(callee);
  };
  return {seen, end, outer, callee, authority, service};
}

module.exports = {ASK, PARENT, listen, close, get, until, readPath, pathWith, pair, trace};
