// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// chain_node.js FOLDER D E [NAME] - service C of the chain: /ads asks D: /stock, or for evil
// items E, which answers anything. D and E are HOST:PORT. Prints where it listens.
'use strict';

const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const [stock, evil, name = 'C'] = process.argv.slice(3);
const agent = new http.Agent({keepAlive: true});

function get(authority, target) {
  return new Promise((resolve, reject) => {
    const request = http.request(`http://${authority}${target}`, {agent}, (answer) => {
      let body = '';
      answer.on('data', (piece) => {
        body += piece;
      });
      answer.on('end', () => resolve(body));
    });
    request.on('error', reject);
    request.end();
  });
}

async function ads(request, response) {
  const url = new URL(request.url, 'http://c');
  const item = url.searchParams.get('id');
  try {
    await trace.part(`item ${item}`, async () => {
      if (item.startsWith('fails-c')) throw new Error(item);
      const body = await get(item.startsWith('evil') ? evil : stock, `/stock${url.search}`);
      response.end(`C(${body})`);
    });
  } catch (error) {
    response.statusCode = 500;
    response.end(error.message);
  }
}

trace.install();
const service = new trace.Service(name, {
  trust: ['127.0.0.0/8'], callees: {[stock]: 'D', [evil]: 'E'},
});
const server = http.createServer(trace.handler(service, ads));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${name} listens on 127.0.0.1:${server.address().port}\n`);
});
