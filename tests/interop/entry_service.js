// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
// entry_service.js FOLDER NAME [LOG] - a service in Node: /ads waits for a moment. With LOG it is
// an entry that keeps a log of its own. Prints where it listens.
'use strict';

const http = require('node:http');
const path = require('node:path');
const trace = require(path.resolve(process.argv[2], 'cpt_trace.js'));

const [name, log] = process.argv.slice(3);

async function ads(request, response) {
  await trace.part('choose', () => new Promise((done) => {
    setTimeout(done, 3);
  }));
  trace.attribute('region', 'eu');
  response.statusCode = request.url.endsWith('9') ? 500 : 200;
  response.end('ok');
}

const service = new trace.Service(name, {
  method: () => '/ads', ...(log ? {log: new trace.Log(log, {share: 0.5})} : {role: 'inner'}),
});
const server = http.createServer(trace.handler(service, ads));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listens on 127.0.0.1:${server.address().port}\n`);
});
