// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// headed.js FOLDER NAME entry|hop|leaf [HOST:PORT] - headed.c in Node, with FOLDER's
// cpt_trace.js: a service whose replies carry other headers.
'use strict';

const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const [name, role, next] = process.argv.slice(3);
const PIECE = 400;
const agent = new http.Agent({keepAlive: true});
let count = 0;

function get(target) {
  return new Promise((resolve, reject) => {
    const request = http.request(`http://${next}${target}`, {agent}, (answer) => {
      let body = '';
      answer.on('data', (piece) => {
        body += piece;
      });
      answer.on('end', () => answer.statusCode === 200 ? resolve(body) :
        reject(new Error(`status ${answer.statusCode}`)));
    });
    request.on('error', reject);
    request.end();
  });
}

function setHeaders(response, heads) {
  const own = heads.split('-')[0];
  let left = parseInt(own, 10);
  response.setHeader('Content-Type', 'text/plain');
  for (let number = 0; ; number++) {
    const header = `x-other-${number}`;
    const some = Math.min(left, PIECE);
    if (!(some > header.length + 4)) break; // also where proxies ask for what is no number
    response.setHeader(header, 'p'.repeat(some - header.length - 4));
    left -= some;
  }
  if (own.endsWith('c')) response.setHeader('cache-control', 'public, max-age=600');
}

async function serve(request, response) {
  const [, n, heads, which] = request.url.split('/');
  let rest = '';
  try {
    if (next) {
      rest = await get(`/${n}/${heads.split('-').slice(1).join('-') || '0'}/${which}`);
    } else if (n === '2') {
      await trace.part('nap', () => new Promise((resolve) => setTimeout(resolve, 3)));
    } else {
      for (let number = 0; number < Number(n); number++) {
        trace.part(`step ${number} of many that have names`, () => undefined);
      }
    }
    setHeaders(response, heads);
  } catch (error) {
    response.statusCode = 502;
    rest = error.message;
  }
  response.end(`${name}.${++count} ${rest}`);
}

trace.install();
const service = new trace.Service(name, {
  role: role === 'entry' ? 'entry' : 'inner', trust: ['127.0.0.0/8'], trustsForwarded: true,
  callees: next ? {[next]: 'next'} : {},
});
const server = http.createServer(trace.handler(service, serve));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${name} listens on 127.0.0.1:${server.address().port}\n`);
});
