// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// proxied_node.js FOLDER [HOST:PORT] - an inner service in Node whose replies to /PARTS/BYTES have
// that number of parts, and of bytes of other headers, in one form after the other. With HOST:PORT
// it is a service that calls B there once. Prints where it listens.
'use strict';

const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const callee = process.argv[3];
let answered = 0;

async function caller(request, response) {
  await (await fetch(`http://${callee}/3/10`)).text();
  response.end('ok');
}

function reply(request, response) {
  const numbers = /^\/([0-9]+)\/([0-9]+)/.exec(request.url);
  const headers = [['Content-Length', '2'], ['Cache-Control', 'max-age=60']];
  if (numbers === null) { // of Squid itself
    response.writeHead(404).end();
    return;
  }
  const [parts, bytes] = numbers.slice(1).map(Number);
  for (let i = 0; i < parts; i++) trace.part(`a part with a long name ${i}`, () => Date.now());
  for (let i = 0; i < bytes; i += 900) {
    headers.push([`X-${i}`, 'x'.repeat(Math.min(900, bytes - i))]);
  }
  const form = answered++ % 4;
  if (form === 0) response.writeHead(200, headers);
  else if (form === 1) response.writeHead(200, headers.flat());
  else if (form === 2) response.writeHead(200, Object.fromEntries(headers));
  else for (const [name, value] of headers) response.setHeader(name, value);
  response.end('ok');
}

trace.install();
const service = new trace.Service(callee === undefined ? 'B' : 'S', {
  role: 'inner', bytesMax: 4096, callees: {[callee]: 'B'},
});
const server = http.createServer(trace.handler(service, callee === undefined ? reply : caller));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listens on 127.0.0.1:${server.address().port}\n`);
});
