// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
/*
 * Critical paths of Node services: one file, no dependencies, Node 18.
 *
 *     caller  --- critical-path: 1;max=2048 -->  this service  --- the same -->  callee
 *                 critical-path-nonce: 9f86…                       with its own
 *     caller  <-- critical-path-bin: CAEQ… ---   this service  <-- the same ---  callee
 *
 *     const trace = require('./cpt_trace.js');
 *     trace.install();
 *     const service = new trace.Service('S', {trust: ['10.0.0.0/8']});
 *     http.createServer(trace.handler(service, (req, res) => …))
 *
 * The format is docs/format-metadata.md of cpt; nothing here uses its library. The file has
 * two halves: the format (asks, paths as bytes, splicing, folding), which can be tried with
 *
 *     cpt-conformance 'node cpt_trace.js --conformance'
 *
 * and the recording (a request, its parts and calls, the walk that finds the path), with the
 * hooks: servers of HTTP, clients of http, http2 and undici, gRPC. Bytes of names are kept as
 * strings of one character for each byte ("latin1"), durations as BigInt.
 *
 * What runs in a handler, or was begun there, belongs to its request until the answer. After it
 * only what is bound, by bind(), carries anything of it; what serves all requests, but is begun
 * by one, is begun in detached().
 */
'use strict';

const {AsyncLocalStorage, AsyncResource} = require('node:async_hooks');
const childProcess = require('node:child_process');
const {randomBytes} = require('node:crypto');
const dgram = require('node:dgram');
const diagnostics = require('node:diagnostics_channel');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');
const workers = require('node:worker_threads');

const HEADER_ASK = 'critical-path';
const HEADER_PATH = 'critical-path-bin';
const HEADER_NONCE = 'critical-path-nonce';
const ASK_HEADERS = [HEADER_ASK, HEADER_NONCE];
const HEADER_TRACEPARENT = 'traceparent';
const HEADER_TRACESTATE = 'tracestate';

const BYTES_DEFAULT = 2048; // of a path, before base64
const BYTES_CEILING = 4096;
const ASK_BYTES_MAX = 1024;
const READ_BYTES_MAX = 65536;
const ROWS_MAX = 65535; // frames, segments, labels, each
const DEPTH_MAX = 1024;
const NAME_BYTES_MAX = 255;
const U32_MAX = 2 ** 32 - 1;
const NS_MAX = 2n ** 63n - 1n;

const WORK = 0, QUEUE = 1, NETWORK = 2, UNATTRIBUTED = 3, BLIND_SPOT = 4, TIMEOUT = 5, FOLDED = 6;
const OTHER = 14;
const REASON = {NONE: 0, UNSUPPORTED: 1, SIZE: 3, UNDECODABLE: 4, FAILED: 5, CACHED: 6, LIMIT: 8};
const UNORDERED = 1, INCOMPLETE = 2, APPROXIMATE = 4; // flags of a path
const OVERCOUNT = 1, IS_FOLDED = 2; // flags of a segment
const LABEL_EXCESS = 5, LABEL_STATUS = 6;
const LABEL_TAKES_NAME = new Map([
  [1, false], [2, false], [3, true], [4, true], [5, false], [6, true], [7, false],
  [8, false], [9, false], [10, false], [11, false], [12, false],
]);

/** Bytes from outside that are not what they should be. */
class Refused extends Error {}

// --- The ask ---

const ITEM = [
  '-?[0-9]{1,12}\\.[0-9]{1,3}',
  '-?[0-9]{1,15}',
  '"(?:[ !#-\\[\\]-~]|\\\\["\\\\])*"',
  "[A-Za-z*][A-Za-z0-9!#$%&'*+\\-.^_`|~:/]*",
  ':[A-Za-z0-9+/=]*:',
  '\\?[01]',
].join('|');
const KEY = '[a-z*][a-z0-9_\\-.*]*';
const ASK = new RegExp(`^ *([0-9]{1,15})((?:; *${KEY}(?:=(?:${ITEM}))?)*) *$`);
const PARAMETER = new RegExp(`; *(${KEY})(?:=(${ITEM}))?`, 'g');
const NUMBER_MAX = 2 ** 31 - 1;

/** What all values of the header critical-path ask for; null: nothing, or malformed. */
function parseAsk(values) {
  if (values.length !== 1 || values[0].length > ASK_BYTES_MAX) return null;
  const match = ASK.exec(values[0]);
  if (match === null || !(Number(match[1]) >= 1 && Number(match[1]) <= NUMBER_MAX)) {
    return null;
  }
  const ask = {version: Number(match[1]), bytesMax: BYTES_DEFAULT, isForced: false,
    wantsDrag: false, graph: null, delayNs: null, delayAt: null, delayBurns: false};
  for (const [, key, value] of match[2].matchAll(PARAMETER)) {
    if (key === 'max') {
      if (value === undefined || !/^[0-9]+$/.test(value)) return null;
      ask.bytesMax = Math.min(Number(value), NUMBER_MAX);
    } else if (key === 'forced') {
      if (value !== undefined && value !== '?0' && value !== '?1') return null;
      ask.isForced = value !== '?0';
    } else {
      noteParameter(ask, key, value);
    }
  }
  return ask;
}

const HEX = /^"(?!0{16})([0-9a-f]{16})"$/;

/** A parameter that older services skip; one that is malformed counts as absent. */
function noteParameter(ask, key, value) {
  const isTrue = value === undefined || value === '?1';
  const hex = value !== undefined && HEX.test(value) ? value.slice(1, -1) : null;
  if (key === 'drag') ask.wantsDrag = isTrue;
  else if (key === 'graph') ask.graph = hex;
  else if (key === 'at') ask.delayAt = hex;
  else if (key === 'burn') ask.delayBurns = isTrue;
  else if (key === 'delay') {
    ask.delayNs = /^[0-9]+$/.test(value) && /[1-9]/.test(value) ? value.replace(/^0+/, '') : null;
  }
}

/** The value of the header for the callees of a request that came with this ask. Forcing ends
 * at the entry. An experiment goes on, and so do drags; the graph does not, as none is kept
 * here, so that what is below this service is a block in the graph of its caller. */
function formatAsk(bytesMax, {delayNs = null, delayAt = null, delayBurns, wantsDrag} = {}) {
  const delay = delayNs === null || delayAt === null ? ''
    : `;delay=${delayNs};at="${delayAt}"${delayBurns ? ';burn' : ''}`;
  return `1;max=${bytesMax}${delay}${wantsDrag ? ';drag' : ''}`;
}

// --- The nonce, which tells the path of this ask from one that a cache has kept ---

/** A new one: 16 hex digits, not all 0. */
function newNonce() {
  for (;;) {
    const nonce = randomBytes(8).toString('hex');
    if (/[^0]/.test(nonce)) return nonce;
  }
}

/** The number that all values of critical-path-nonce say; 0n: none, or malformed. */
function parseNonce(values) {
  return values.length === 1 && /^[0-9a-f]{16}$/.test(values[0]) ? BigInt(`0x${values[0]}`) : 0n;
}

// --- The trace context, as W3C has it ---

const TRACESTATE_BYTES_MAX = 512; // that are passed on
const MEMBERS_MAX = 32;
const TRACEPARENT = new RegExp('^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})' +
  '([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$', 's');
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -<>-~]{1,256}$/;

/** What is passed on of all values of traceparent; null: nothing, or malformed. */
function parseTraceparent(values) {
  const match = values.length === 1 ? TRACEPARENT.exec(values[0]) : null;
  if (match === null || (match[1] === '00' && match[5] !== undefined)) return null;
  if (values[0].length === 55) return `00${values[0].slice(2)}`;
  return `00-${match[2]}-${match[3]}-0${parseInt(match[4], 16) & 3}`;
}

/** What is passed on of all values of tracestate; '': nothing; null: malformed. A single one
 * that fits stays as it is; else members that are long are left out first. */
function joinTracestate(values) {
  let members = values.flatMap((value) => value.split(','))
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, '')).filter((member) => member !== '');
  if (members.length > MEMBERS_MAX || !members.every((member) => MEMBER.test(member))) return null;
  if (values.length === 1 && values[0].length <= TRACESTATE_BYTES_MAX) {
    return members.length === 0 ? '' : values[0];
  }
  if (members.join(',').length > TRACESTATE_BYTES_MAX) {
    members = members.filter((member) => member.length <= 128);
  }
  while (members.join(',').length > TRACESTATE_BYTES_MAX) members.pop();
  return members.join(',');
}

/** The headers that calls of a request carry, which came with all these values: those, or a
 * traceparent that is made. What is malformed is dropped and counted. */
function traceContext(parents, states, isTraced = false, counters = {}) {
  const parent = parseTraceparent(parents);
  if (parent === null) {
    if (parents.length !== 0) counters.traceparentsRefused++;
    const ids = randomBytes(24).toString('hex'); // one of them is 0 at a chance below 2^-63
    return {[HEADER_TRACEPARENT]: `00-${ids.slice(0, 32)}-${ids.slice(32)}-0${isTraced ? 3 : 2}`};
  }
  const state = joinTracestate(states);
  if (state === null) counters.tracestatesRefused++;
  return {[HEADER_TRACEPARENT]: parent, ...(state ? {[HEADER_TRACESTATE]: state} : {})};
}

// --- A path ---

/** Frames {parent or -1, name, kind}; segments {frame, ns, count, flags, reason, labels, drag},
 * the drag null where it is not known. */
class Path {
  constructor() {
    this.frames = [];
    this.depths = [];
    this.index = new Map();
    this.segments = [];
    this.flags = 0;
    this.sumNs = 0n;
  }

  /** The number of a frame, which is added if it is new. A stack that is too deep loses
   * names, never time. */
  frame(parent, name = '', kind = WORK) {
    const key = `${parent},${kind},${name}`;
    const found = this.index.get(key);
    if (found !== undefined) return found;
    const depth = parent < 0 ? 1 : this.depths[parent] + 1;
    if (depth > DEPTH_MAX) return parent;
    this.frames.push({parent, name, kind});
    this.depths.push(depth);
    this.index.set(key, this.frames.length - 1);
    return this.frames.length - 1;
  }

  append(frame, ns, {count = 1, flags = 0, reason = 0, labels = new Map(), drag = null} = {}) {
    if (ns <= 0n) return null;
    if (this.sumNs + ns > NS_MAX) throw new Refused('the durations are not below 2^63 ns');
    this.sumNs += ns;
    const segment = {frame, ns, count, flags, reason, labels, drag};
    this.segments.push(segment);
    return segment;
  }

  /** The frames of a stack, root first. */
  stack(frame) {
    const frames = [];
    for (; frame >= 0; frame = this.frames[frame].parent) frames.push(this.frames[frame]);
    return frames.reverse();
  }
}

// --- Bytes to a path ---

// Columns by their fields: the field that has as many numbers, whether it may be shorter,
// whether its numbers have 64 bits.
const COLUMNS = new Map([
  [6, {base: 6}], [7, {base: 6}], [8, {base: 6, isShort: true}],
  [9, {base: 9}], [10, {base: 9, isWide: true}], [11, {base: 9, isShort: true}],
  [12, {base: 9, isShort: true}], [13, {base: 9, isShort: true}],
  [14, {base: 14}], [15, {base: 14}], [16, {base: 14, isShort: true}],
  [17, {base: 14, isWide: true}], [18, {base: 9, isShort: true, isWide: true}],
]);
const FIELD_DRAG = 18, FIELD_NONCE = 19;

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
    this.end = data.length;
  }

  /** A number of up to 64 bits: a Number if it has at most 28, else a BigInt. */
  varint() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      if (this.at >= this.end) throw new Refused('a number goes beyond its end');
      const byte = this.data[this.at++];
      if (shift === 28) value = BigInt(value);
      if (shift === 63 && byte > 1) throw new Refused('a number of more than 64 bits');
      value += shift < 28 ? (byte & 127) << shift : BigInt(byte & 127) << BigInt(shift);
      if (byte < 128) return value;
    }
  }

  /** The bytes that follow, after their length. */
  length() {
    const bytes = this.varint();
    if (bytes > this.end - this.at) throw new Refused('a field goes beyond the end');
    return Number(bytes);
  }

  /** Skips a field that no version knows. */
  skip(wireType) {
    if (wireType === 0) {
      while (this.at < this.end && this.data[this.at] >= 128) this.at++;
      this.at++;
    } else if (wireType === 1) {
      this.at += 8;
    } else if (wireType === 2) {
      const bytes = this.length();
      this.at += bytes;
    } else if (wireType === 5) {
      this.at += 4;
    } else {
      throw new Refused(`wire type ${wireType}`);
    }
    if (this.at > this.end) throw new Refused('a field goes beyond the end');
  }

  fixed64() {
    this.at += 8;
    if (this.at > this.end) throw new Refused('a field goes beyond the end');
    return this.data.readBigUInt64LE(this.at - 8);
  }

  column(field, wireType, column) {
    const end = this.end;
    let isOne = wireType === 0;
    if (wireType === 2) {
      const bytes = this.length();
      this.end = this.at + bytes;
    }
    while (isOne || (wireType === 2 && this.at < this.end)) {
      const value = this.varint();
      const isWide = COLUMNS.get(field).isWide;
      if ((!isWide && value > U32_MAX) || column.length === ROWS_MAX) {
        throw new Refused(`field ${field} has too large or too many numbers`);
      }
      column.push(isWide ? BigInt(value) : Number(value));
      isOne = false;
    }
    this.end = end;
  }
}

/** The numbers, names and columns of a message. */
function readMessage(data) {
  if (data.length > READ_BYTES_MAX) throw new Refused(`more than ${READ_BYTES_MAX} bytes`);
  const reader = new Reader(data);
  const message = {scalars: [], names: [], columns: new Map(), nonce: 0n};
  let nameBytes = 0;
  for (const field of COLUMNS.keys()) message.columns.set(field, []);
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag > U32_MAX) throw new Refused('a tag of more than 32 bits');
    const field = Math.floor(Number(tag) / 8);
    const wireType = Number(tag) % 8;
    if (field === 0) throw new Refused('field 0');
    const isKnown = field <= FIELD_NONCE;
    const wanted = field <= 4 ? [0] : field === 5 ? [2] : field === FIELD_NONCE ? [1] : [0, 2];
    if (isKnown && !wanted.includes(wireType)) {
      throw new Refused(`field ${field} has wire type ${wireType}`);
    }
    if (!isKnown) {
      reader.skip(wireType);
    } else if (field <= 4) {
      message.scalars[field] = BigInt(reader.varint());
    } else if (field === FIELD_NONCE) {
      message.nonce = reader.fixed64();
    } else if (field === 5) {
      const bytes = reader.length();
      nameBytes += bytes + 1;
      if (bytes > NAME_BYTES_MAX || nameBytes > READ_BYTES_MAX) {
        throw new Refused('a name is too long');
      }
      message.names.push(data.toString('latin1', reader.at, reader.at + bytes));
      reader.at += bytes;
    } else {
      reader.column(field, wireType, message.columns.get(field));
    }
  }
  return message;
}

function checkMessage({scalars, names, columns}) {
  if (scalars[1] !== 1n) throw new Refused(`version ${scalars[1] || 0}`);
  if ((scalars[2] || 0n) > NS_MAX || (scalars[3] || 0n) > NS_MAX) {
    throw new Refused('a time of 2^63 ns or more');
  }
  for (const [field, {base, isShort}] of COLUMNS) {
    const column = columns.get(field);
    const missing = columns.get(base).length - column.length;
    if (missing < 0 || (missing > 0 && !isShort)) {
      throw new Refused(`field ${field} and ${base} differ in length`);
    }
    // without one number of theirs no drag is known
    const isAbsent = field === FIELD_DRAG && column.length === 0;
    for (let i = 0; i < missing && !isAbsent; i++) column.push(field === FIELD_DRAG ? 0n : 0);
  }
  if (names.some((name) => name.includes('\0'))) throw new Refused('a name has a NUL byte');
}

function nameOf(names, number) {
  if (number > names.length) throw new Refused(`name ${number} of ${names.length}`);
  return Number(number) === 0 ? '' : names[Number(number) - 1];
}

function addFrames(path, {names, columns}) {
  const [parents, numbers, kinds] = [6, 7, 8].map((field) => columns.get(field));
  for (let row = 0; row < parents.length; row++) {
    if (parents[row] > row || kinds[row] > 255) {
      throw new Refused(`frame ${row} has no such parent or kind`);
    }
    const parent = parents[row] === 0 ? -1 : row - parents[row];
    if (parent >= 0 && path.depths[parent] >= DEPTH_MAX) {
      throw new Refused(`frame ${row} is too deep`);
    }
    if (path.frame(parent, nameOf(names, numbers[row]), kinds[row]) !== row) {
      throw new Refused(`frame ${row} is there already`);
    }
  }
}

/** The labels by their segments. */
function readLabels({names, columns}) {
  const [distances, keys, types, values] = [14, 15, 16, 17].map((f) => columns.get(f));
  const labels = new Map();
  let segment = 0;
  for (let row = 0; row < distances.length; row++) {
    segment += distances[row];
    if (segment >= columns.get(9).length) throw new Refused(`a label of segment ${segment}`);
    const value = types[row] === 1 ? nameOf(names, values[row]) : values[row];
    const takesName = LABEL_TAKES_NAME.get(keys[row]);
    if (takesName !== undefined && types[row] === (takesName ? 1 : 0)) {
      if (!labels.has(segment)) labels.set(segment, new Map());
      labels.get(segment).set(keys[row], value);
    }
  }
  return labels;
}

/** The drags of segments of these durations, by what field 18 says. */
function readDrags(numbers, durations) {
  let lastNs = 0n;
  return numbers.map((number, row) => {
    if (number === 2n) return null;
    if (number > 2n) lastNs = number - 3n;
    return number === 0n || lastNs > durations[row] ? durations[row] : lastNs;
  });
}

/** The path in the bytes of a callee, its elapsedNs or null, and its nonce or 0n. Throws
 * Refused. */
function decode(data) {
  const message = readMessage(data);
  const path = new Path();
  checkMessage(message);
  addFrames(path, message);
  const labels = readLabels(message);
  const [frames, durations, counts, flags, reasons] =
    [9, 10, 11, 12, 13].map((field) => message.columns.get(field));
  const drags = readDrags(message.columns.get(FIELD_DRAG), durations);
  for (let row = 0; row < frames.length; row++) {
    if (frames[row] >= path.frames.length || durations[row] === 0n ||
        counts[row] === U32_MAX || flags[row] > 65535 || reasons[row] > 255) {
      throw new Refused(`segment ${row}`);
    }
    path.append(frames[row], durations[row], {
      count: counts[row] + 1, flags: flags[row], reason: reasons[row],
      labels: labels.get(row), drag: drags[row],
    });
  }
  const sumNs = message.scalars[3] || 0n;
  if (path.segments.length === 0 && path.frames.length === 0 && sumNs !== 0n) {
    path.append(path.frame(-1, '', BLIND_SPOT), sumNs, {reason: REASON.SIZE});
  }
  if (path.sumNs !== sumNs) {
    throw new Refused(`the segments add up to ${path.sumNs}, not ${sumNs}`);
  }
  path.flags = Number((message.scalars[4] || 0n) & 0xffffffffn);
  const elapsedNs = message.scalars[2] === undefined ? null : message.scalars[2];
  return {path, elapsedNs, nonce: message.nonce};
}

function encodeBase64(data) {
  return data.toString('base64').replace(/=+$/, '');
}

/** The same of the value of the header critical-path-bin. */
function decodeHeader(value) {
  const text = value.replace(/={1,2}$/, '');
  if (!/^[A-Za-z0-9+/]*$/.test(text) || (text !== value && value.length % 4 !== 0)) {
    throw new Refused('no base64');
  }
  const data = Buffer.from(text, 'base64');
  if (encodeBase64(data) !== text) throw new Refused('bits behind the last byte');
  return decode(data);
}

// --- A path to bytes ---

function putVarint(out, value) {
  if (typeof value === 'bigint' && value > 0x7fffffffn) {
    for (; value > 127n; value >>= 7n) out.push(Number(value & 127n) | 128);
    out.push(Number(value));
    return;
  }
  value = Number(value);
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  out.push(value);
}

function varintBytes(value) {
  let bytes = 1;
  for (let rest = BigInt(value) >> 7n; rest > 0n; rest >>= 7n) bytes++;
  return bytes;
}

/** What encode() cuts down: copies of a path's tables. */
class Form {
  constructor(path, elapsedNs, nonce) {
    this.nonce = nonce;
    this.frames = path.frames.slice();
    this.segments = path.segments.map((segment) => ({...segment}));
    this.flags = path.flags;
    this.sumNs = path.sumNs;
    this.elapsedNs = elapsedNs;
  }

  framesInUse() {
    const used = new Array(this.frames.length).fill(false);
    for (const {frame} of this.segments) used[frame] = true;
    for (let i = used.length - 1; i >= 0; i--) {
      if (used[i] && this.frames[i].parent >= 0) used[this.frames[i].parent] = true;
    }
    return [...used.keys()].filter((frame) => used[frame]);
  }

  /** The names and the columns, by field. */
  columns() {
    const names = new Map();
    const columns = new Map();
    const numbers = new Map();
    let last = 0;
    const numberOf = (name) => {
      if (name === '') return 0;
      if (!names.has(name)) names.set(name, names.size + 1);
      return names.get(name);
    };
    const put = (field, value) => columns.get(field).push(value);
    for (const field of COLUMNS.keys()) columns.set(field, []);
    for (const frame of this.framesInUse()) {
      const {parent, name, kind} = this.frames[frame];
      numbers.set(frame, numbers.size);
      put(6, parent < 0 ? 0 : numbers.get(frame) - numbers.get(parent));
      put(7, numberOf(name));
      put(8, kind);
    }
    this.segments.forEach(({frame, ns, count, flags, reason, labels}, row) => {
      [numbers.get(frame), ns, count - 1, flags, reason].forEach((value, i) => put(9 + i, value));
      for (const [key, value] of labels) {
        const isName = LABEL_TAKES_NAME.get(key);
        put(14, row - last);
        put(15, key);
        put(16, isName ? 1 : 0);
        put(17, isName ? numberOf(value) : value);
        last = row;
      }
    });
    return {names, columns};
  }

  /** The bytes as it is now. */
  message() {
    const {names, columns} = this.columns();
    const out = [8, 1];
    const scalar = (field, value) => {
      out.push(field << 3);
      putVarint(out, value);
    };
    if (this.elapsedNs !== null) scalar(2, this.elapsedNs);
    if (this.sumNs !== 0n) scalar(3, this.sumNs);
    if (this.flags !== 0) scalar(4, this.flags);
    for (const name of names.keys()) {
      out.push((5 << 3) | 2);
      putVarint(out, name.length);
      for (let i = 0; i < name.length; i++) out.push(name.charCodeAt(i));
    }
    for (const [field, column] of columns) {
      while (COLUMNS.get(field).isShort && column.length && column[column.length - 1] === 0) {
        column.pop();
      }
      if (column.length === 0) continue;
      const packed = [];
      for (const value of column) putVarint(packed, value);
      putVarint(out, (field << 3) | 2);
      putVarint(out, packed.length);
      for (const byte of packed) out.push(byte);
    }
    if (this.nonce !== 0n) {
      putVarint(out, (FIELD_NONCE << 3) | 1);
      for (let shift = 0n; shift < 64n; shift += 8n) out.push(Number((this.nonce >> shift) & 255n));
    }
    return Buffer.from(out);
  }
}

function merge(into, segment) {
  into.ns += segment.ns;
  into.count = Math.min(into.count + segment.count, U32_MAX);
  into.flags |= segment.flags | IS_FOLDED;
  if (into.reason !== segment.reason) into.reason = REASON.NONE;
}

function mergeNeighbours(form) {
  const kept = [];
  for (const segment of form.segments) {
    const before = kept[kept.length - 1];
    if (before !== undefined && before.frame === segment.frame) {
      merge(before, segment);
      before.labels = new Map();
    } else {
      kept.push(segment);
    }
  }
  form.segments = kept;
}

function mergeStacks(form) {
  const kept = new Map();
  for (const segment of form.segments) {
    if (kept.has(segment.frame)) merge(kept.get(segment.frame), segment);
    else kept.set(segment.frame, segment);
  }
  form.segments = [...kept.values()];
  form.flags = (form.flags | UNORDERED) >>> 0;
}

/** Stacks by their bytes, root first; one that the other continues comes first. */
function compareStacks(left, right) {
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i].name !== right[i].name) return left[i].name < right[i].name ? -1 : 1;
    if (left[i].kind !== right[i].kind) return left[i].kind - right[i].kind;
  }
  return left.length - right.length;
}

function compareLeaves(left, right) {
  if (left.ns !== right.ns) return left.ns < right.ns ? -1 : 1;
  return compareStacks(left.stack, right.stack);
}

/** The smallest first. */
class Heap {
  constructor() {
    this.items = [];
  }

  push(item) {
    const items = this.items;
    let at = items.length;
    for (let up = (at - 1) >> 1; at > 0 && compareLeaves(item, items[up]) < 0; up = (at - 1) >> 1) {
      items[at] = items[up];
      at = up;
    }
    items[at] = item;
  }

  pop() {
    const items = this.items;
    const smallest = items[0];
    const last = items.pop();
    const count = items.length;
    let at = 0;
    if (count === 0) return smallest;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < count && compareLeaves(items[child + 1], items[child]) < 0) child++;
      if (child >= count || compareLeaves(items[child], last) >= 0) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return smallest;
  }
}

/**
 * Step 4: the leaf with the smallest sum moves into its parent, again and again.
 *
 * Measuring after each leaf would cost leaves times frames, so `floor`, which is never above
 * the size, is kept up to date instead; only once it is within the budget, the size is
 * measured.
 */
class Folding {
  constructor(form) {
    const used = form.framesInUse();
    this.form = form;
    this.segment = new Map(form.segments.map((segment) => [segment.frame, segment]));
    this.folded = new Array(form.frames.length).fill(-1); // the frame of its ‹folded›
    this.children = new Array(form.frames.length).fill(0); // in use, without its ‹folded›
    this.isFolded = new Array(form.frames.length).fill(false);
    this.names = new Map();
    this.floor = 8;
    this.heap = new Heap();
    for (const frame of used.slice().reverse()) this.link(frame);
    for (const frame of used) this.pushIfLeaf(frame);
  }

  link(frame) {
    const {parent, name, kind} = this.form.frames[frame];
    this.use(frame, 1);
    if (kind === FOLDED && name === '' && parent >= 0) {
      this.folded[parent] = frame;
      this.isFolded[frame] = this.children[frame] === 0 && this.folded[frame] < 0;
    }
    if (parent >= 0 && !this.isFolded[frame]) this.children[parent]++;
    if (this.segment.has(frame)) this.floor += 1 + varintBytes(this.ownNs(frame));
  }

  /** One more use of a frame, or with -1 one less. */
  use(frame, change) {
    const {name} = this.form.frames[frame];
    const before = this.names.get(name) || 0;
    this.floor += 2 * change;
    this.names.set(name, before + change);
    if (name !== '' && (before === 0 || before + change === 0)) {
      this.floor += change * (1 + varintBytes(name.length) + name.length);
    }
  }

  ownNs(frame) {
    return this.segment.has(frame) ? this.segment.get(frame).ns : 0n;
  }

  leafNs(frame) {
    return this.ownNs(frame) + (this.folded[frame] < 0 ? 0n : this.ownNs(this.folded[frame]));
  }

  pushIfLeaf(frame) {
    if (this.children[frame] === 0 && !this.isFolded[frame] &&
        this.form.frames[frame].parent >= 0) {
      this.push(frame);
    }
  }

  push(frame) {
    const stack = [];
    for (let at = frame; at >= 0; at = this.form.frames[at].parent) {
      stack.push(this.form.frames[at]);
    }
    this.heap.push({ns: this.leafNs(frame), stack: stack.reverse(), frame});
  }

  /** The smallest leaf. One that is a ‹folded› and had children may have received time
   * meanwhile; it goes back with its new sum. */
  pop() {
    for (;;) {
      const {ns, frame} = this.heap.pop();
      if (ns === this.leafNs(frame)) return frame;
      this.push(frame);
    }
  }

  foldedOf(parent) {
    if (this.folded[parent] < 0) {
      const frame = this.form.frames.push({parent, name: '', kind: FOLDED}) - 1;
      this.folded[parent] = frame;
      this.folded[frame] = -1;
      this.children[frame] = 0;
      this.isFolded[frame] = true;
      this.use(frame, 1);
    }
    return this.folded[parent];
  }

  move(source, target) {
    const segment = this.segment.get(source);
    const into = this.segment.get(target);
    if (segment === undefined) return;
    this.segment.delete(source);
    if (into === undefined) {
      segment.frame = target;
      segment.flags |= IS_FOLDED;
      segment.reason = REASON.NONE;
      this.segment.set(target, segment);
    } else {
      this.floor -= 2 + varintBytes(segment.ns) + varintBytes(into.ns);
      merge(into, segment);
      this.floor += 1 + varintBytes(into.ns);
      segment.ns = 0n;
    }
  }

  /** Folds one leaf; false if there is none. */
  fold() {
    if (this.heap.items.length === 0) return false;
    const frame = this.pop();
    const {parent} = this.form.frames[frame];
    const folded = this.foldedOf(parent);
    if (this.folded[frame] >= 0) {
      this.move(this.folded[frame], folded);
      this.use(this.folded[frame], -1);
      this.folded[frame] = -1;
    }
    if (folded === frame) { // a ‹folded› that had children stays, without them
      this.isFolded[frame] = true;
    } else {
      this.move(frame, folded);
      this.use(frame, -1);
    }
    this.children[parent]--;
    this.pushIfLeaf(parent);
    return true;
  }

  sweep() {
    this.form.segments = this.form.segments.filter((segment) => segment.ns !== 0n);
  }
}

/** The bytes of a path, at most bytesMax; null if nothing fits. */
function encode(path, bytesMax = BYTES_DEFAULT, elapsedNs = null, nonce = 0n) {
  const form = new Form(path, elapsedNs, nonce);
  let data = form.message();
  if (data.length > bytesMax && form.segments.length !== 0) {
    mergeNeighbours(form);
    data = form.message();
    if (data.length > bytesMax) {
      for (const segment of form.segments) segment.labels = new Map();
      data = form.message();
    }
    if (data.length > bytesMax) {
      mergeStacks(form);
      data = form.message();
    }
    if (data.length > bytesMax) {
      const folding = new Folding(form);
      while (data.length > bytesMax && folding.fold()) {
        if (folding.floor <= bytesMax) {
          folding.sweep();
          data = form.message();
        }
      }
    }
    if (data.length > bytesMax) {
      form.segments = [];
      form.flags = (form.flags & ~UNORDERED) >>> 0;
      data = form.message();
    }
  }
  return data.length <= bytesMax ? data : null;
}

// --- Callees' paths in the place of calls ---

/** The values' shares of the whole, which add up to it: largest remainder. */
function apportion(values, whole) {
  const total = values.reduce((sum, value) => sum + value, 0n);
  const shares = values.map((value) => (value * whole) / total);
  const rests = values.map((value) => (value * whole) % total);
  const order = [...values.keys()].sort((a, b) =>
    rests[a] === rests[b] ? a - b : rests[a] > rests[b] ? -1 : 1);
  const missing = whole - shares.reduce((sum, share) => sum + share, 0n);
  for (const i of order.slice(0, Number(missing))) shares[i] += 1n;
  return shares;
}

function appendKind(path, frame, kind, ns, reason = REASON.NONE) {
  if (ns > 0n) path.append(path.frame(frame, '', kind), ns, {reason});
}

function appendCallee(path, callFrame, callee, observedNs) {
  let excessNs = callee.sumNs > observedNs ? callee.sumNs - observedNs : 0n;
  let durations = callee.segments.map((segment) => segment.ns);
  const toleratedNs = observedNs / 100n > 1000n ? observedNs / 100n : 1000n;
  const more = excessNs > toleratedNs ? OVERCOUNT : 0;
  const places = [];
  if (excessNs > 0n) durations = apportion(durations, observedNs);
  for (const {parent, name, kind} of callee.frames) {
    const isCall = parent < 0 && kind === WORK && name === path.frames[callFrame].name;
    places.push(isCall ? callFrame
      : path.frame(parent < 0 ? callFrame : places[parent], name, kind));
  }
  callee.segments.forEach(({frame, count, flags, reason, labels}, i) => {
    const added = path.append(places[frame], durations[i],
      {count, flags: flags | more, reason, labels: new Map(labels)});
    if (added !== null && excessNs > 0n) {
      added.labels.set(LABEL_EXCESS, excessNs);
      excessNs = 0n;
    }
  });
  path.flags = (path.flags | callee.flags) >>> 0;
}

/** Appends what a call of observedNs took: its callee's path, or a blind spot. */
function splice(path, callFrame, observedNs,
  {callee = null, elapsedNs = null, reason = REASON.NONE} = {}) {
  const pathNs = callee === null ? 0n : callee.sumNs;
  const saidNs = elapsedNs === null ? pathNs : elapsedNs;
  const moreNs = saidNs > pathNs ? saidNs : pathNs;
  const explainedNs = moreNs < observedNs ? moreNs : observedNs;
  if (callee === null || (pathNs === 0n && elapsedNs === null)) {
    const blindNs = elapsedNs === null ? observedNs : explainedNs;
    appendKind(path, callFrame, BLIND_SPOT, blindNs, reason);
    appendKind(path, callFrame, NETWORK, observedNs - blindNs);
    return;
  }
  appendCallee(path, callFrame, callee, observedNs);
  if (pathNs < observedNs) {
    appendKind(path, callFrame, UNATTRIBUTED, explainedNs - pathNs);
    appendKind(path, callFrame, NETWORK, observedNs - explainedNs);
  }
}

/** What the value of critical-path-bin that answered an ask with this nonce says, for splice();
 * null: none came. The path of another ask, which a cache has kept, says nothing. */
function readReply(value, nonce, missing = REASON.UNSUPPORTED) {
  if (value === null) return {reason: missing};
  try {
    const {path: callee, elapsedNs, nonce: its} = decodeHeader(value);
    if (its !== 0n && its !== nonce) return {reason: REASON.CACHED};
    return {callee, elapsedNs, reason: REASON.UNDECODABLE};
  } catch (error) {
    if (error instanceof Refused) return {reason: REASON.UNDECODABLE};
    throw error;
  }
}

// --- Recording a request ---

const SPANS_MAX = 1000; // parts and calls of a request; more are lost, and the path says so
const NAMES_MAX = 1000; // names that requests of a service may invent

// The span in which the current asynchronous context is. Sockets, timers and loops that a request
// began have it for as long as they live; so the end of the request empties its spans, and what
// such a thing does later is on no path, nor does it keep the request in memory.
const current = new AsyncLocalStorage();

// {headers} that calls carry, also of a request that is not traced: its trace context, and what
// passes through. The end of the answer takes them away.
const carried = new AsyncLocalStorage();

// Headers of proxies, which tell who stands behind the sender: such a request comes from
// outside, from any peer. By what names are, begin with and end with, as in
// wire/forwarding-headers.txt: `cpt-conformance` says whether all are here.
const FORWARDING = ['via', 'cdn-loop', 'forwarded', 'x-forwarded', 'remote-addr'];
const FORWARDING_BEGINS = ['forwarded-', 'x-forwarded-', 'x-original-'];
const FORWARDING_ENDS = ['-forwarded-for', '-via', '-ip', '-ipv4', '-ipv6', 'clientip',
  'socketip', 'realip', 'sourceip', '-remote-addr', '-remote-address', '-client-address',
  '-external-address', '-viewer-address'];

const HEADERS_MAX = 128; // of a request from a trusted caller: nothing is hidden among more

/** Whether a header of this name says that a program sent the request on for another. */
function isForwarding(header) {
  const name = header.toLowerCase();
  return FORWARDING.includes(name) || FORWARDING_BEGINS.some((part) => name.startsWith(part)) ||
    FORWARDING_ENDS.some((part) => name.endsWith(part));
}

/** Whether a request with these raw headers, names and values in turn, comes from outside. */
function isForwarded(raw) {
  return raw.length > 2 * HEADERS_MAX || raw.some((text, i) => i % 2 === 0 && isForwarding(text));
}

/** A part or a call: a name, an interval, the span that it began in. */
class Span {
  constructor(request, parent, name, isCall, startNs) {
    Object.assign(this, {request, parent, name, isCall, startNs});
    this.endNs = null;
    this.queueNs = 0n; // of a call, before it had a connection
    this.nonce = 0n;
    this.reply = null;
    this.reason = REASON.UNSUPPORTED;
    this.isTimeout = false;
    this.status = null;
  }

  /** Whatever still has this span keeps nothing else alive, and adds nothing to the request. */
  empty() {
    this.request = null;
    this.parent = null;
    this.reply = null;
  }
}

/**
 * What requests of this process have in common.
 *
 * role             'entry': requests come from outside, and a caller must be trusted; 'inner':
 *                  only services reach it, and each gets paths, through proxies, too
 * trust            of an entry: networks of callers that get paths ('10.0.0.0/8'), or a function
 *                  of the peer's address; by default no caller gets one
 * trustsForwarded  of an entry: trusts a peer also with requests that it has sent on for others
 * callees          {'host:port': 'B'}: who is asked for paths, and the service's name there; by
 *                  what the connection is made to, 'host:port' or the path of a socket
 * bytesMax         of a path, before base64
 * headersBytesMax  of all headers of an answer, which proxies limit; by default what fits each
 * method           a function of a URL's path: the method's name; by default the path itself
 * onPath           is called with the Path of each request that is traced, after its end
 * log              of an entry: the Log that gets a share of the requests, though no caller asks
 */
class Service {
  constructor(name, {role = 'entry', trust = [], trustsForwarded = false, callees = {},
    bytesMax = BYTES_DEFAULT, headersBytesMax = null, method = (path) => path, onPath = null,
    log = null, clock = process.hrtime.bigint} = {}) {
    if (role !== 'entry' && role !== 'inner') throw new TypeError(`${role} is no role`);
    if (log !== null && role !== 'entry') throw new TypeError('an inner service has no log');
    this.name = name;
    this.isInner = role === 'inner';
    this.trustsForwarded = trustsForwarded;
    this.headersBytesMax = headersBytesMax;
    this.callees = new Map(Object.entries(callees));
    this.bytesMax = Math.min(bytesMax, BYTES_CEILING);
    this.method = method;
    this.onPath = onPath;
    this.log = log;
    this.clock = clock;
    this.counters = {requestsTraced: 0, asksMalformed: 0, asksUntrusted: 0, repliesRefused: 0,
      repliesStale: 0, pathsWithoutRoom: 0, callsWithoutRoom: 0, traceparentsRefused: 0,
      tracestatesRefused: 0, passedRefused: 0, errors: 0};
    this.names = new Set();
    this.isTrusted = typeof trust === 'function' ? trust : trustOf(trust);
  }

  /** "service: part"; null: there are too many names already. */
  nameOf(service, part) {
    const bytes = Buffer.from(`${service}: ${part}`).toString('latin1');
    const name = bytes.replace(/\0/g, '?').slice(0, NAME_BYTES_MAX);
    if (!this.names.has(name)) {
      if (this.names.size >= NAMES_MAX) return null;
      this.names.add(name);
    }
    return name;
  }

  /** Whether a caller may have paths, and what it sends along goes on to callees. */
  trusts(peer, isForwarded) {
    if (this.isInner) return true;
    return (!isForwarded || this.trustsForwarded) && Boolean(this.isTrusted(peer));
  }

  /** The ask of a trusted caller; null: there is none. */
  heeded(asks, peer, isForwarded) {
    if (asks.length === 0) return null;
    const ask = parseAsk(asks);
    if (ask === null) {
      this.counters.asksMalformed++;
      return null;
    }
    if (!this.trusts(peer, isForwarded)) {
      this.counters.asksUntrusted++;
      return null;
    }
    return ask;
  }

  /** The request, if it is to be traced: if a trusted caller asks, or for the log. Else null. */
  begin(path, asks, peer, isForwarded = false, nonces = []) {
    try {
      const ask = this.heeded(asks, peer, isForwarded);
      const share = this.log === null ? null : this.log.choose(path, ask);
      if (ask === null && share === null) return null;
      this.counters.requestsTraced++;
      const name = this.nameOf(this.name, this.method(path));
      return new Request(this, name, ask, parseNonce(nonces), share);
    } catch {
      this.counters.errors++;
      return null;
    }
  }

  /** What calls of a request carry, which came with these raw headers, names and values in turn.
   * A stranger's baggage and identities of B3 end here. */
  carry(raw, peer, isTraced) {
    const context = {headers: null};
    try {
      context.headers = traceContext(rawValues(raw, HEADER_TRACEPARENT),
        rawValues(raw, HEADER_TRACESTATE), isTraced, this.counters);
      const passed = passedOn(raw, this.counters);
      if (Object.keys(passed).length !== 0 && this.trusts(peer, isForwarded(raw))) {
        Object.assign(context.headers, passed);
      }
    } catch {
      this.counters.errors++;
    }
    return context;
  }
}

/** Of headers that calls carry; empty: there are none. */
function traceIdOf(headers) {
  return (headers?.[HEADER_TRACEPARENT] ?? '').slice(3, 35);
}

const PASSED_BYTES_MAX = 8192; // of one header, as W3C has it for baggage

/** The headers of groups of which a caller's or another tracer's are never mixed with ours. */
function groupOf(header) {
  const name = header.toLowerCase();
  if (name === HEADER_TRACEPARENT || name === HEADER_TRACESTATE) return 'trace';
  if (name === 'b3' || name.startsWith('x-b3-')) return 'b3';
  return name === 'baggage' ? name : null;
}

/** The raw headers that pass through a service unread: those of B3, and baggage, of which several
 * are one list. */
function passedOn(raw, counters) {
  const passed = {};
  const names = new Set(raw.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  for (const name of names) {
    const group = groupOf(name);
    if (group === null || group === 'trace') continue;
    const values = rawValues(raw, name);
    const value = values.join(',');
    if (value.length <= PASSED_BYTES_MAX && (values.length === 1 || group === 'baggage')) {
      passed[name] = value;
    } else {
      counters.passedRefused++;
    }
  }
  return passed;
}

/** Whether an address lies in one of the networks. */
function trustOf(networks) {
  const list = new net.BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    const isV4 = net.isIPv4(address);
    if (!isV4 && !net.isIPv6(address)) throw new TypeError(`${network} is no network`);
    list.addSubnet(address, bits === undefined ? (isV4 ? 32 : 128) : Number(bits),
      isV4 ? 'ipv4' : 'ipv6');
  }
  return (peer) => {
    const address = String(peer).replace(/^::ffff:(?=[0-9.]+$)/i, '');
    const family = net.isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}

const LOG_BYTES_WAITING = 4 * 2 ** 20; // of lines that are not written yet; more are dropped
const LOG_WAIT_MS = 50; // for further lines
const LOG_ATTRIBUTES_MAX = 32;
const LOG_TEXT_MAX = 1000;
const {O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0} = fs.constants;
const LOG_FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY;

/**
 * A file of the requests that an entry chooses by itself, a line of JSON each, of which
 * `cpt import` makes a path log:
 *
 *     const log = new Log('/var/log/front/paths.jsonl', {share: 0.01});
 *     const service = new Service('front', {log});
 *
 * file      is opened for each write, so it may be renamed. Processes may share it
 * share     of the requests that are traced: a number from 0 to 1, or a function of a URL's path
 *           that gives one. Those that a trusted caller forces are in it, too
 * bytesMax  of the file: then lines are dropped
 *
 * No request waits for it. counters has linesWritten; linesDropped, for which there was no room;
 * linesFailed, which could not be written; and errors.
 */
class Log {
  constructor(file, {share = 0.01, bytesMax = 2 ** 30} = {}) {
    if (typeof share !== 'function' && !(share >= 0 && share <= 1)) {
      throw new TypeError(`a share is a number from 0 to 1, not ${share}`);
    }
    this.file = file;
    this.share = typeof share === 'function' ? share : () => share;
    this.bytesMax = bytesMax;
    this.counters = {linesWritten: 0, linesDropped: 0, linesFailed: 0, errors: 0};
    this.lines = [];
    this.writing = []; // lines that the system has now
    this.bytes = 0; // of both
    this.timer = null;
    this.isTorn = false; // the file ends within a line
    this.waiters = [];
    process.on('exit', () => this.writeLast());
  }

  /** The share with which a request is in the log; null: it is not. */
  choose(path, ask = null) {
    if (ask !== null) return ask.isForced ? 1 : null;
    try {
      const share = this.share(path);
      return Math.random() < share ? share : null;
    } catch {
      this.counters.errors++;
      return null;
    }
  }

  /** Takes a request that has ended. */
  add(request) {
    try {
      const line = lineOf(request);
      if (line === null) return;
      if (this.bytes + line.length > LOG_BYTES_WAITING) {
        this.counters.linesDropped++;
        return;
      }
      this.lines.push(line);
      this.bytes += line.length;
      if (this.timer === null && this.writing.length === 0) this.wait();
    } catch {
      this.counters.errors++;
    }
  }

  /** Writes soon: more may come. A process need not live for that. */
  wait() {
    detached(() => {
      this.timer = setTimeout(() => {
        this.timer = null;
        this.write();
      }, LOG_WAIT_MS);
      this.timer.unref();
    });
  }

  /** What is written now, in one piece, which the lines of other processes do not part. */
  take() {
    this.writing = this.lines;
    this.lines = [];
    return Buffer.from((this.isTorn ? '\n' : '') + this.writing.join(''), 'latin1');
  }

  write() {
    const data = this.take();
    fs.open(this.file, LOG_FLAGS, 0o640, (failure, file) => {
      if (failure !== null) {
        this.written(data, 0);
        return;
      }
      fs.fstat(file, (error, about) => {
        if (error !== null || about.size + data.length > this.bytesMax) {
          fs.close(file, () => this.written(data, error === null ? null : 0));
          return;
        }
        fs.write(file, data, 0, data.length, null, (_, bytes) => {
          fs.close(file, () => this.written(data, bytes || 0));
        });
      });
    });
  }

  /** The first bytes of the data are in the file; null: there was no room. */
  written(data, bytes) {
    const {counters, writing} = this;
    if (bytes === null) {
      counters.linesDropped += writing.length;
    } else {
      const begin = this.isTorn ? 1 : 0;
      const ends = data.subarray(begin, Math.max(begin, bytes)).filter((byte) => byte === 10);
      counters.linesWritten += ends.length;
      counters.linesFailed += writing.length - ends.length;
      if (bytes > 0) this.isTorn = bytes < data.length;
    }
    this.bytes -= writing.reduce((sum, line) => sum + line.length, 0);
    this.writing = [];
    if (this.lines.length !== 0) this.wait();
    else for (const wake of this.waiters.splice(0)) wake();
  }

  /** Is settled when all lines are written, or have failed. */
  flush() {
    if (this.lines.length === 0 && this.writing.length === 0) return Promise.resolve();
    return new Promise((wake) => {
      this.waiters.push(wake);
      if (this.timer !== null) this.timer.ref();
    });
  }

  /** At the end of the process nothing else can be written. */
  writeLast() {
    if (this.lines.length === 0) return;
    const data = this.take();
    let bytes = 0;
    try {
      const file = fs.openSync(this.file, LOG_FLAGS, 0o640);
      const {size} = fs.fstatSync(file);
      bytes = size + data.length > this.bytesMax ? null : fs.writeSync(file, data);
      fs.closeSync(file);
    } catch {
      bytes = 0;
    }
    this.written(data, bytes);
  }
}

/** What an attribute of a line can be. */
function plain(value) {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value;
  return String(value).slice(0, LOG_TEXT_MAX);
}

/** Nanoseconds as a number of seconds, exactly. */
function secondsOf(ns) {
  return `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, '0')}`;
}

/** The line of a request that has ended, as bytes; null: it took no time. */
function lineOf(request) {
  const {path, service, share} = request;
  if (path.sumNs === 0n) return null;
  const line = {...Object.fromEntries(request.attributes), service: service.name};
  for (const key of ['time', 'latency', 'path', 'method']) delete line[key];
  if (request.name !== null) {
    line.method = Buffer.from(request.name.slice(Buffer.byteLength(service.name) + 2), 'latin1')
      .toString();
  }
  if (request.status !== null) line.status = request.status;
  if (request.isFailed) line.failed = true;
  if (request.ask.isForced) line.forced = true;
  else if (share < 1) line.probability = share;
  if (request.traceId !== '') line.trace_id = request.traceId;
  const data = encode(path, READ_BYTES_MAX, path.sumNs);
  const rest = JSON.stringify(line).slice(1);
  return Buffer.from(`{"time":${(request.beganMs / 1000).toFixed(3)},"latency":${
    secondsOf(path.sumNs)},"path":"${encodeBase64(data)}",${rest}\n`).toString('latin1');
}

/** One request that is traced. */
class Request {
  constructor(service, name, ask, nonce = 0n, share = null) {
    this.service = service;
    this.name = name;
    this.isAsked = ask !== null; // by its caller, who gets the path
    this.share = share; // with which it is in the log; null: it is not
    this.ask = ask ?? parseAsk(['1']);
    this.nonce = nonce;
    this.bytesMax = Math.min(this.ask.bytesMax, service.bytesMax);
    this.beganMs = Date.now();
    this.traceId = '';
    this.status = null;
    this.isFailed = false;
    this.attributes = new Map();
    this.isIncomplete = false;
    this.path = null;
    this.spans = [];
    this.root = new Span(this, null, name, false, service.clock());
  }

  /** A new span, or null at the limit and after the end. */
  open(parent, name, isCall) {
    if (this.root.endNs !== null) return null;
    if (this.spans.length >= SPANS_MAX) {
      this.isIncomplete = true;
      return null;
    }
    const span = new Span(this, parent, name, isCall, this.service.clock());
    this.spans.push(span);
    return span;
  }

  /** Ends the request: what comes later is on no path. */
  finish() {
    if (this.root.endNs !== null) return;
    this.root.endNs = this.service.clock();
    try {
      this.path = this.makePath();
      if (this.share !== null) this.service.log.add(this);
      if (this.service.onPath !== null) this.service.onPath(this.path);
    } catch {
      this.service.counters.errors++;
    }
    for (const span of this.spans) span.empty();
    this.root.empty();
    this.spans = [];
  }

  /** The value of the header critical-path-bin, of at most bytesLeft before base64; null: there
   * is no path, or no room for it. Ends the request. */
  end(bytesLeft = BYTES_CEILING) {
    this.finish();
    if (this.path === null || !this.isAsked) return null;
    try {
      const bytesMax = Math.min(this.bytesMax, bytesLeft);
      const data = encode(this.path, bytesMax, this.path.sumNs, this.nonce);
      if (data !== null) return encodeBase64(data);
      this.service.counters.pathsWithoutRoom++;
    } catch {
      this.service.counters.errors++;
    }
    return null;
  }

  /** The frame of a span below those of the spans that it began in. */
  frameOf(path, span, frames) {
    const missing = [];
    let at = span;
    for (; at !== null && !frames.has(at); at = at.parent) missing.push(at);
    let frame = at === null ? -1 : frames.get(at);
    for (const one of missing.reverse()) {
      const [name, kind] = one.name === null ? ['', OTHER] : [one.name, WORK];
      frame = path.frame(frame, name, kind);
      frames.set(one, frame);
    }
    return frame;
  }

  makePath() {
    const path = new Path();
    const frames = new Map();
    const {steps, isApproximate} = walk(this.root, this.spans);
    for (const {span, ns} of steps) {
      const frame = this.frameOf(path, span, frames);
      if (span.isCall) this.splice(path, frame, span, ns);
      else path.append(frame, ns);
    }
    path.flags |= (this.isIncomplete ? INCOMPLETE : 0) | (isApproximate ? APPROXIMATE : 0);
    return path;
  }

  splice(path, frame, span, observedNs) {
    if (span.isTimeout) {
      appendKind(path, frame, TIMEOUT, observedNs);
    } else {
      const queueNs = span.queueNs < observedNs ? span.queueNs : observedNs;
      const how = readReply(span.reply, span.nonce, span.reason);
      if (span.reply !== null && how.callee === undefined) {
        this.service.counters[how.reason === REASON.CACHED ? 'repliesStale' : 'repliesRefused']++;
      }
      appendKind(path, frame, QUEUE, queueNs);
      splice(path, frame, observedNs - queueNs, how);
    }
    if (span.status !== null && observedNs > 0n) {
      path.segments[path.segments.length - 1].labels.set(LABEL_STATUS, span.status);
    }
  }
}

/**
 * The spans on the path with their durations, in the order of time.
 *
 * The walk goes back from the answer. Within a span, the one that ended last before here was
 * waited for: what lies between is the span's own time. A call takes all of its time, from its
 * begin to its end; the walk continues where it was begun. Where another span ended meanwhile,
 * the intervals do not tell which one was waited for, so the path is flagged approximate.
 *
 *     root   |==|...........................|===|
 *     call 1    |---------------|                      ended earlier: not on the path
 *     call 2    |---------------------------|          root, call 2, root
 */
function walk(root, spans) {
  const waited = new Map(); // by the span that may have waited for them
  const waitedBy = (span) => {
    if (!waited.has(span)) waited.set(span, []);
    return waited.get(span);
  };
  let others = 0;
  for (const span of spans) {
    if (span.endNs === null || span.endNs > root.endNs) continue;
    let waiter = span.parent;
    while (waiter !== root && (waiter.endNs === null || waiter.endNs < span.endNs)) {
      waiter = waiter.parent;
    }
    waitedBy(waiter).push(span);
    others += span.endNs > span.startNs ? 1 : 0;
  }
  for (const list of waited.values()) {
    list.sort((a, b) => (a.endNs < b.endNs ? -1 : a.endNs > b.endNs ? 1 : 0));
  }
  const steps = [];
  let node = root;
  let now = root.endNs;
  while (node !== null) {
    const list = waitedBy(node);
    while (list.length !== 0 && list[list.length - 1].endNs > now) list.pop();
    if (list.length === 0 || list[list.length - 1].endNs <= node.startNs) {
      steps.push({span: node, ns: now - node.startNs});
      now = node.startNs;
      node = node.parent;
      continue;
    }
    const span = list.pop();
    others -= span.endNs > span.startNs ? 1 : 0;
    steps.push({span: node, ns: now - span.endNs});
    now = span.endNs;
    node = span;
    if (span.isCall) {
      steps.push({span, ns: now - span.startNs});
      now = span.startNs;
      node = span.parent;
    }
  }
  return {steps: steps.reverse(), isApproximate: others !== 0};
}

/** The span above what begins now; null: no request is traced here, or it has its answer. */
function above() {
  const span = current.getStore();
  return span === undefined || span === null || span.request === null ? null : span;
}

/** An error of ours, in the current request or one that has its answer. */
function countError(span = above()) {
  if (span && span.request) span.request.service.counters.errors++;
}

/** A new span of the current request; null if there is none. */
function enter(name, isCall) {
  const span = above();
  if (span === null) return null;
  try {
    return span.request.open(span, name(span.request.service), isCall);
  } catch {
    countError(span);
    return null;
  }
}

function leave(span) {
  if (span !== null && span.request !== null && span.endNs === null) {
    span.endNs = span.request.service.clock();
  }
}

/** Runs in a span, and with what calls carry. */
function runIn(span, context, run) {
  return carried.run(context, () => current.run(span, run));
}

function isThenable(value) {
  return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

/**
 * detached(() => startPool()): what begins in it belongs to no request. For workers, loops and
 * timers that serve all requests, and are started by the first one.
 */
function detached(run) {
  return runIn(undefined, undefined, run);
}

/**
 * queue.push(bind(() => …)): a task of this request, wherever it runs. Its calls are those of
 * the request until the answer. After that they ask for no path, but carry the request's
 * traceparent; if the task is a promise, until that is settled.
 */
function bind(run) {
  const span = current.getStore();
  const {headers} = carried.getStore() || {headers: null};
  return function bound(...words) {
    const context = {headers};
    const result = runIn(span, context, () => run.apply(this, words));
    return isThenable(result) ? after(result, () => {
      context.headers = null;
    }) : result;
  };
}

/** The promise, after whose end something is done. */
function after(promise, end) {
  return promise.then(
    (value) => {
      end();
      return value;
    },
    (error) => {
      end();
      throw error;
    },
  );
}

/** A remark on the current request, which the log shows: attribute('region', 'eu'). */
function attribute(key, value) {
  const span = above();
  if (span === null || span.request.share === null) return;
  const {attributes} = span.request;
  if (attributes.size < LOG_ATTRIBUTES_MAX || attributes.has(key)) {
    attributes.set(String(key).slice(0, LOG_TEXT_MAX), plain(value));
  }
}

/** await part('rank', async () => …): in it time belongs to "S: rank". */
function part(name, run) {
  const span = enter((service) => service.nameOf(service.name, name), false);
  if (span === null) return run();
  let result;
  try {
    result = current.run(span, run);
  } catch (error) {
    leave(span);
    throw error;
  }
  if (!isThenable(result)) {
    leave(span);
    return result;
  }
  return after(result, () => leave(span));
}

/**
 * A call by a client without a hook:
 *
 *     const one = new Call('B', '/lookup');
 *     const answer = await client.get(url, {headers: one.headers});
 *     one.reply(answer.headers['critical-path-bin'], answer.status);     or one.fail(error)
 */
class Call {
  constructor(callee, method, isAsked = true) {
    this.span = enter((service) => service.nameOf(callee, method), true);
    this.isAsked = isAsked;
    this.isCrowded = false; // its other headers leave no room for an ask
    this.headers = {};
    if (this.span !== null && isAsked) {
      const {bytesMax, ask} = this.span.request;
      this.headers[HEADER_ASK] = formatAsk(bytesMax, ask);
      this.headers[HEADER_NONCE] = newNonce();
      this.span.nonce = parseNonce([this.headers[HEADER_NONCE]]);
    }
    Object.assign(this.headers, carriedHeaders());
  }

  /** Takes the ask away unless there is room for it beside these other headers of the call, as
   * pairs: a client that knows them says so before it sends those of the call. */
  beside(pairs, targetBytes = 0) {
    if (this.headers[HEADER_ASK] === undefined || hasRoomForAsk(pairs, targetBytes)) return;
    for (const name of ASK_HEADERS) delete this.headers[name];
    this.isAsked = false;
    this.isCrowded = true;
    this.span.request.service.counters.callsWithoutRoom++;
  }

  isOver() {
    return this.span === null || this.span.request === null || this.span.endNs !== null;
  }

  /** The answer has come, with one value of the header, or an array of them. */
  reply(values, status = 0, isCached = false) {
    const {span} = this;
    if (this.isOver()) return;
    leave(span);
    const list = values === undefined || values === null ? [] : [].concat(values);
    if (this.isCrowded) {
      span.reason = REASON.LIMIT;
    } else if (this.isAsked && isCached) {
      span.reason = REASON.CACHED;
    } else if (this.isAsked && list.length > 1) {
      span.reason = REASON.UNDECODABLE;
    } else if (this.isAsked && list.length === 1) {
      const text = String(list[0]);
      if (text.length > Math.ceil((span.request.bytesMax * 4) / 3) + 2) span.reason = REASON.SIZE;
      else span.reply = text;
    }
    if (status >= 400) span.status = String(status);
  }

  /** There is no answer. */
  fail(isTimeout = false) {
    const {span} = this;
    if (this.isOver()) return;
    leave(span);
    span.isTimeout = isTimeout;
    span.reason = REASON.FAILED;
    span.status = isTimeout ? 'DEADLINE' : 'UNAVAILABLE';
  }

  /** It had to wait so long for a connection. */
  queued(ns) {
    if (!this.isOver()) this.span.queueNs = ns;
  }
}

/** The headers of the ask that a call has. */
function askNames(one) {
  return ASK_HEADERS.filter((name) => one.headers[name] !== undefined);
}

/** What a call carries now: {name: value}. */
function carriedHeaders() {
  const context = carried.getStore();
  return context === undefined || context.headers === null ? {} : context.headers;
}

// --- The server ---

/** Whether an answer comes from a cache: it has Age. Varnish writes `Age: 0` on each answer;
 * its X-Varnish has a second number on those of its cache. */
function isFromCache(raw) {
  const [ages, varnish] = [rawValues(raw, 'age'), rawValues(raw, 'x-varnish')];
  return ages.length !== 0 && !(ages.length === 1 && ages[0] === '0' &&
    varnish.length === 1 && /^[0-9]+$/.test(varnish[0]));
}

/** All values of a header, from the raw list of names and values. */
function rawValues(raw, name) {
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1].toLowerCase() === name);
}

/** The headers of writeHead() without one: that which the application copied from a callee, as
 * inner names never leave by mistake. */
function without(headers, header) {
  const isPath = (name) => String(name).toLowerCase() === header;
  if (!Array.isArray(headers)) {
    return Object.fromEntries(Object.entries(headers).filter(([name]) => !isPath(name)));
  }
  if (headers.length !== 0 && Array.isArray(headers[0])) {
    return headers.filter(([name]) => !isPath(name));
  }
  return headers.filter((_, i) => !isPath(headers[i - (i % 2)]));
}

/** The pairs of names and values that the headers of writeHead() are. */
function pairsOf(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers);
  if (headers.length !== 0 && Array.isArray(headers[0])) return headers;
  return headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
}

function isNamed(header) {
  return ([name]) => String(name).toLowerCase() === header;
}

// --- Room for a path among other headers ---

const HEADERS_BYTES_HTTP = 4096; // of all headers: what nginx takes by default
const HEADERS_BYTES_GRPC = 8192; // the limit of most implementations
const GRPC_HEAD_BYTES = 230; // :status, content-type and the encodings
const HEADERS_BYTES_KEPT = 512; // for what servers and proxies add: Date, Server, Via, …

const HEADERS_BYTES_EACH = 88; // of the limit, for each header of a head: Varnish takes 54
const HEADERS_OF_NODE = 4; // Date, Connection, Keep-Alive, Content-Length

// All that servers on grpc++, and many of HTTP, take of a request's headers. Of these for what
// a client's library adds by itself, and for an ask and its nonce with their names.
const HEADERS_BYTES_REQUEST = 8192;
const HEADERS_BYTES_LIBRARY = 512;
const HEADERS_BYTES_ASK = 256;

/** Whether a request has room for an ask beside these pairs of names and values: else its callee
 * might refuse it. A value in a list is a header. */
function hasRoomForAsk(pairs, targetBytes) {
  const sizes = pairs.flatMap(([name, values]) => [].concat(values)
    .map((value) => String(name).length + valueBytes(name, value) + 32));
  const bytes = sizes.reduce((sum, size) => sum + size, targetBytes);
  const kept = HEADERS_BYTES_KEPT + HEADERS_BYTES_LIBRARY + HEADERS_BYTES_ASK;
  return bytes + kept <= HEADERS_BYTES_REQUEST &&
    sizes.length + ASK_HEADERS.length <= HEADERS_BYTES_HTTP / HEADERS_BYTES_EACH;
}

/** Of a value, which gRPC may send in base64. */
function valueBytes(name, value) {
  if (Buffer.isBuffer(value) || String(name).endsWith('-bin')) return Math.ceil(value.length * 4 / 3);
  return Buffer.byteLength(String(value));
}

/** The bytes of a path, before base64, that are left beside headersBytes of other headers. */
function pathBytesLeft(headersBytesMax, headersBytes) {
  return Math.max(0, Math.floor(((headersBytesMax - HEADERS_BYTES_KEPT - headersBytes) * 3) / 4));
}

/** The bytes of a head of HTTP with these pairs of names and values. */
function headBytes(statusLine, pairs) {
  const lines = pairs.flatMap(([name, values]) => [].concat(values)
    .map((value) => String(name).length + String(value).length + 4));
  return statusLine.length + 2 + lines.reduce((sum, bytes) => sum + bytes, 2);
}

function statusLineOf(response, [status, words]) {
  const isHttp2 = response.stream !== undefined; // has no message, and warns if one asks for it
  const message = typeof words === 'string' ? words : isHttp2 ? '' : response.statusMessage;
  return `HTTP/1.1 ${status} ${message || http.STATUS_CODES[status] || 'unknown'}`;
}

// --- Servers of HTTP ---

/** The headers of writeHead() with these, in the form that they have. */
function withPairs(headers, pairs) {
  if (!Array.isArray(headers)) return {...headers, ...Object.fromEntries(pairs)};
  return headers.concat(Array.isArray(headers[0]) ? pairs : pairs.flat());
}

/** The bytes that others, which are all headers of a head, and the target of its request leave
 * for a path: nginx that caches keeps the target where it reads the head. */
function bytesOfHead(service, statusLine, others, targetBytes) {
  const limit = service.headersBytesMax ?? HEADERS_BYTES_HTTP;
  const count = others.flatMap(([, values]) => values).length + HEADERS_OF_NODE;
  return count > limit / HEADERS_BYTES_EACH ? 0
    : pathBytesLeft(limit, headBytes(statusLine, others) + targetBytes);
}

/** Adds the path to a response, if there is room for it beside all that is there now; a cache
 * between must not give it to those who did not ask. */
function addPath(service, request, response, words, targetBytes) {
  const at = words.findIndex((word) => word !== null && typeof word === 'object');
  const given = at < 0 ? [] : pairsOf(words[at]);
  const names = new Set(given.map(([name]) => String(name).toLowerCase()));
  const set = Object.entries(response.getHeaders());
  const all = [...set.filter(([name]) => !names.has(name)), ...given];
  const varies = all.filter(isNamed('vary')).flatMap(([, value]) => value).join(', ');
  const isThere = varies.toLowerCase().split(/ *, */)
    .some((word) => word === HEADER_ASK || word === '*');
  const vary = ['Vary', isThere ? varies : varies === '' ? HEADER_ASK : `${varies}, ${HEADER_ASK}`];
  const others = [...all.filter((pair) => !isNamed('vary')(pair)), vary, [HEADER_PATH, '']];
  const value = request.end(bytesOfHead(service, statusLineOf(response, words), others,
    targetBytes));
  if (value === null) return words;
  // setHeader() would change how headers of writeHead() are taken that stand alone
  if (at >= 0 && set.length === 0 && response.stream === undefined) {
    return words.map((word, i) => (i !== at ? word
      : withPairs(without(word, 'vary'), [vary, [HEADER_PATH, value]])));
  }
  response.setHeader(HEADER_PATH, value);
  response.setHeader(...vary);
  return words.map((word, i) => (i === at ? without(word, 'vary') : word));
}

/** Adds the path to the head of a response, when it is written, and ends what the request
 * carries with the answer. */
function hookAnswer(service, request, response, context) {
  const {writeHead, end} = response;
  const targetBytes = response.req?.url?.length ?? 0; // frameworks change it
  let open = request;
  const over = () => {
    context.headers = null;
    if (open !== null) {
      open.isFailed = true; // without a head
      open.finish();
    }
    open = null;
  };
  response.writeHead = function hooked(...words) {
    try {
      if (!this.headersSent) {
        this.removeHeader(HEADER_PATH);
        words = words.map((word) =>
          word !== null && typeof word === 'object' ? without(word, HEADER_PATH) : word);
        if (open !== null) {
          open.status = typeof words[0] === 'number' ? words[0] : this.statusCode;
          if (open.isAsked) words = addPath(service, open, this, words, targetBytes);
          else open.finish();
        }
      }
    } catch {
      service.counters.errors++;
    }
    const result = writeHead.apply(this, words);
    open = null;
    return result;
  };
  response.end = function ended(...words) {
    const result = end.apply(this, words);
    over();
    return result;
  };
  return over;
}

/** Events of a connection are not in the context of a request that is on it: those of this
 * emitter are from now on. Before each, `watch` sees it. */
function bindEvents(emitter, span, context, watch = null) {
  const {emit} = emitter;
  emitter.emit = function bound(...words) {
    if (watch !== null) watch(...words);
    return runIn(span, context, () => emit.apply(this, words));
  };
}

/** The path of a request's URL; that of an absolute one comes after its host, which is what the
 * client says. */
function pathOf(url) {
  return String(url).replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split('?')[0] || '/';
}

/** A listener for http.createServer(), https and http2, around one of the application. */
function handler(service, listener) {
  return function traced(incoming, response, ...more) {
    let request = null;
    let context;
    try {
      const {rawHeaders: raw, socket: {remoteAddress: peer}} = incoming;
      const asks = rawValues(raw, HEADER_ASK);
      if (asks.length !== 0 || service.log !== null) {
        request = service.begin(pathOf(incoming.url), asks, peer, isForwarded(raw),
          rawValues(raw, HEADER_NONCE));
      }
      context = service.carry(raw, peer, request !== null);
      if (request !== null) request.traceId = traceIdOf(context.headers);
      const over = hookAnswer(service, request, response, context);
      const root = request === null ? null : request.root;
      bindEvents(incoming, root, context);
      bindEvents(response, root, context, (event) => {
        if (event === 'close') over();
      });
    } catch {
      service.counters.errors++;
    }
    return runIn(request === null ? null : request.root, context,
      () => listener.call(this, incoming, response, ...more));
  };
}

// --- Clients ---

/** A call to host:port, if the current request is traced. */
function beginCall(authority, path) {
  const span = above();
  if (span === null) return null;
  const {service} = span.request;
  try {
    const callee = service.callees.get(authority);
    const method = service.method(pathOf(path));
    return new Call(callee === undefined ? authority : callee, method, callee !== undefined);
  } catch {
    countError(span);
    return null;
  }
}

/** Whether the error with which a call ended says that its time was over. Clients have several
 * words for it; ECONNABORTED is that of axios, but of the system, too, for something else. */
function isTimeoutError(error) {
  const {signal} = error.config || {}; // an AbortSignal.timeout() that axios was given
  const words = [error.code, error.name, (error.cause || {}).name,
    ((signal && signal.reason) || {}).name].map(String);
  return words.some((word) => /TIMEDOUT|_TIMEOUT$|^TimeoutError$/.test(word)) ||
    (error.code === 'ECONNABORTED' && error.name === 'AxiosError');
}

/** Whether a request waits in the queue of its agent, as the last that came. */
function isQueued(request) {
  const {agent} = request;
  return Boolean(agent && agent.requests) &&
    Object.values(agent.requests).some((list) => list[list.length - 1] === request);
}

/** What sees the events of a request of http, and follows it to its answer. They are watched
 * where they are emitted: a listener more would change what happens to an answer that has none. */
function watchRequest(request, one, startNs) {
  const {service} = one.span.request;
  let isWaiting = isQueued(request);
  let isTimeout = false;
  let socket = null;
  const onTimeout = () => {
    isTimeout = true;
  };
  return (event, word) => {
    if (event === 'socket') {
      if (isWaiting) one.queued(service.clock() - startNs);
      isWaiting = false;
      socket = word;
      socket.on('timeout', onTimeout); // also if a client above http set it
    } else if (['response', 'upgrade', 'connect'].includes(event)) {
      one.reply(rawValues(word.rawHeaders, HEADER_PATH), word.statusCode,
        isFromCache(word.rawHeaders));
    } else if (event === 'timeout') {
      isTimeout = true;
    } else if (event === 'error' || event === 'close' || event === 'abort') {
      if (isWaiting) one.queued(service.clock() - startNs);
      one.fail(isTimeout || isTimeoutError(word || {}));
    }
    if (event === 'close' && socket !== null) socket.removeListener('timeout', onTimeout);
  };
}

/** Binds the events of a request, and of its answer, to where it was made: those of a connection
 * that is kept would be in the context of the request that had it before. */
function bindRequest(request, watch) {
  const [span, context] = [current.getStore(), carried.getStore()];
  bindEvents(request, span, context, (event, word) => {
    try {
      if (event === 'response') bindEvents(word, span, context);
      if (watch !== null) watch(event, word);
    } catch {
      countError(span);
    }
  });
}

/** What a call carries and has not set by itself, nor any other tracer for it. */
function missingHeaders(names) {
  const groups = new Set(names.map(groupOf));
  return Object.entries(carriedHeaders()).filter(([name]) => !groups.has(groupOf(name)));
}

/** Adds what calls carry to a request of http. An ask that the application copied from its own
 * request, as gateways do, is not for this callee: a stranger's would go on. */
function carry(request) {
  if (request.headersSent) return;
  try {
    if (carried.getStore() !== undefined) ASK_HEADERS.forEach((name) => request.removeHeader(name));
    for (const [key, value] of missingHeaders(request.getHeaderNames())) {
      request.setHeader(key, value);
    }
  } catch {
    // the head is on its way: it goes without
  }
}

/** To whom a request of http goes, by what it connects to and never by its header Host, which
 * may be that of a stranger's request: host:port, or the path of a socket. */
function authorityOf(module, request, words) {
  const [first, second] = words;
  const isUrl = typeof first === 'string' || first instanceof URL;
  const more = isUrl ? second : first;
  const {agent} = request;
  const always = (agent && agent.options) || {}; // what an agent puts in the place of options
  const options = {...(more !== null && typeof more === 'object' ? more : {}), ...always};
  if (options.socketPath) return String(options.socketPath);
  const port = options.port || (isUrl && new URL(first).port) || options.defaultPort ||
    (agent && agent.defaultPort) || (module === https ? 443 : 80);
  const host = String(always.host || request.host).replace(/^\[|\]$/g, '');
  return net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Makes a call of a request of http that was just made, and adds what it carries. */
function followRequest(module, request, words, startNs) {
  carry(request);
  const one = beginCall(authorityOf(module, request, words), request.path);
  if (one === null || one.span === null) return null;
  one.span.startNs = startNs;
  if (request.headersSent) one.isAsked = false;
  else if (one.isAsked) {
    one.beside(Object.entries(request.getHeaders()), request.path.length);
    for (const name of askNames(one)) request.setHeader(name, one.headers[name]);
  }
  return watchRequest(request, one, startNs);
}

const originals = []; // what takes the hooks away

/** Puts make(original) in the place of a function; later hooks of others may stand around it. */
function hook(owner, name, make) {
  const original = owner[name];
  const hooked = make(original);
  owner[name] = hooked;
  originals.push(() => {
    if (owner[name] === hooked) owner[name] = original;
  });
}

function isInstalled() {
  return originals.length !== 0;
}

function hookRequests(module) {
  hook(module, 'request', (original) => function request(...words) {
    if (!isInstalled()) return original.apply(this, words);
    const span = above();
    const startNs = span === null ? 0n : span.request.service.clock();
    const made = original.apply(this, words);
    try {
      const watch = span === null ? carry(made) : followRequest(module, made, words, startNs);
      bindRequest(made, watch || null);
    } catch {
      countError(span);
    }
    return made;
  });
  hook(module, 'get', () => function get(...words) { // that of Node calls its own request()
    const made = module.request(...words);
    made.end();
    return made;
  });
}

/** Makes a function that opens what lives longer than a request do that outside of it. The
 * function that it gets as the last argument is still the request's. */
function hookDetached(owner, name) {
  hook(owner, name, (original) => function outside(...words) {
    const last = words[words.length - 1];
    if (!isInstalled() || current.getStore() === undefined) return original.apply(this, words);
    if (typeof last === 'function' && owner !== dgram) { // that hears all messages there
      const [span, context] = [current.getStore(), carried.getStore()];
      words[words.length - 1] = function bound(...more) {
        return runIn(span, context, () => last.apply(this, more));
      };
    }
    return detached(() => original.apply(this, words));
  });
}

/** Binds events of the streams of a session of http2 to where each was begun. */
function hookSessions() {
  hook(http2, 'connect', (original) => function connect(...words) {
    const session = original.apply(this, words);
    const {request} = session;
    session.request = function begin(...more) {
      const stream = request.apply(this, more);
      bindEvents(stream, current.getStore(), carried.getStore());
      return stream;
    };
    return session;
  });
}

// --- fetch() and other clients on undici ---

const fetches = new WeakMap(); // the calls of requests
const connections = new WeakMap(); // sockets: when each was connected, and whether it was used

/** The headers of a request of undici, which are a text or a list, as pairs. */
function undiciPairs({headers}) {
  if (Array.isArray(headers)) {
    return headers.flatMap((name, i) => (i % 2 === 0 ? [[String(name), headers[i + 1]]] : []));
  }
  return String(headers || '').split('\r\n').filter((line) => line.indexOf(':') > 0)
    .map((line) => [line.split(':')[0], line.slice(line.indexOf(':') + 1)]);
}

function undiciRemove(request, isOne) {
  const {headers} = request;
  if (Array.isArray(headers)) {
    for (let i = headers.length - 2; i >= 0; i -= 2) {
      if (isOne(String(headers[i]).toLowerCase())) headers.splice(i, 2);
    }
  } else if (typeof headers === 'string') {
    request.headers = headers.split('\r\n')
      .filter((line) => line === '' || !isOne(line.split(':')[0].toLowerCase())).join('\r\n');
  }
}

/** Adds what the call carries. Another tracer that is told of the request after us, and adds a
 * traceparent, or headers of another group, adds them in the place of ours. */
function carryFetch(request) {
  const {addHeader} = request;
  const ours = new Set();
  for (const [key, value] of missingHeaders(undiciPairs(request).map(([name]) => name))) {
    addHeader.call(request, key, value);
    ours.add(groupOf(key));
  }
  request.addHeader = function added(name, value) {
    const group = groupOf(String(name));
    if (ours.delete(group)) undiciRemove(this, (key) => groupOf(key) === group);
    return addHeader.call(this, name, value);
  };
}

/** Runs where a request of undici was asked for. A pool that had it in its queue makes it later,
 * where another request has ended; the handler of one by request() knows where it is from. */
function whereAsked(request, run) {
  const asked = Object.getOwnPropertySymbols(request).map((symbol) => request[symbol])
    .find((value) => value instanceof AsyncResource);
  return asked === undefined ? run() : asked.runInAsyncScope(run);
}

function onFetch({request}) {
  const host = new URL(request.origin);
  const port = host.port || (host.protocol === 'https:' ? '443' : '80');
  const one = beginCall(`${host.hostname}:${port}`, request.path);
  if (carried.getStore() !== undefined) undiciRemove(request, (key) => ASK_HEADERS.includes(key));
  carryFetch(request);
  if (one !== null && one.span !== null && one.isAsked) {
    one.beside(undiciPairs(request), request.path.length);
    for (const name of askNames(one)) request.addHeader(name, one.headers[name]);
  }
  if (one === null || one.span === null) return;
  const fetched = {one, startNs: process.hrtime.bigint(), isWaiting: false};
  fetches.set(request, fetched);
  queueMicrotask(() => {
    fetched.isWaiting = true; // unless its head was written at once
  });
}

/** The head is written: what was before, while others had the connection, was the client's
 * queue; while there was none, it was the network. */
function onFetchSent({request, socket}) {
  const fetched = fetches.get(request);
  const connection = connections.get(socket) || {ns: 0n, isUsed: true};
  const {isUsed} = connection;
  connection.isUsed = true;
  if (fetched === undefined || !fetched.isWaiting || !isUsed) return;
  const sinceNs = connection.ns > fetched.startNs ? connection.ns : fetched.startNs;
  fetched.one.queued(process.hrtime.bigint() - sinceNs);
}

function onFetchHeaders({request, response}) {
  const fetched = fetches.get(request);
  if (fetched === undefined || response.statusCode < 200) return;
  const raw = response.headers.map((word) => word.toString('latin1'));
  fetched.one.reply(rawValues(raw, HEADER_PATH), response.statusCode, isFromCache(raw));
}

function onFetchError({request, error}) {
  const fetched = fetches.get(request);
  if (fetched === undefined) return;
  fetched.one.fail(isTimeoutError(error || {}) || /Timeout/.test(String(error)));
}

/** A subscriber that never throws: undici would report that as its own failure. */
function quietly(subscriber) {
  return (message) => {
    try {
      subscriber(message);
    } catch {
      countError();
    }
  };
}

function subscribe(name, subscriber) {
  const channel = diagnostics.channel(name);
  const quiet = quietly(subscriber);
  channel.subscribe(quiet);
  originals.push(() => channel.unsubscribe(quiet));
}

/** Hooks for http, https and fetch(); and for what a request may be the first to need, but others
 * use after it: connections, servers, threads and processes inherit nothing from it. */
function install() {
  if (isInstalled()) return;
  hookRequests(http);
  hookRequests(https);
  for (const [owner, name] of [[net, 'connect'], [net, 'createConnection'],
    [net.Socket.prototype, 'connect'], [net.Server.prototype, 'listen'], [tls, 'connect'],
    [http2, 'connect'], [dgram, 'createSocket'], [childProcess, 'fork']]) {
    hookDetached(owner, name);
  }
  hookSessions();
  hook(workers, 'Worker', (Worker) => new Proxy(Worker, {
    construct: (...words) => detached(() => Reflect.construct(...words)),
  }));
  subscribe('undici:request:create', ({request}) => whereAsked(request, () => onFetch({request})));
  subscribe('undici:client:connected', ({socket}) => {
    connections.set(socket, {ns: process.hrtime.bigint(), isUsed: false});
  });
  subscribe('undici:client:sendHeaders', onFetchSent);
  subscribe('undici:request:headers', onFetchHeaders);
  subscribe('undici:request:error', onFetchError);
  require('node:module').syncBuiltinESMExports();
}

function uninstall() {
  for (const restore of originals.splice(0).reverse()) restore();
  require('node:module').syncBuiltinESMExports();
}

// --- gRPC, by grpc-js ---

const GRPC_CODES = ['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED',
  'NOT_FOUND', 'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION',
  'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS',
  'UNAUTHENTICATED'];

/** A call has its status, and perhaps the path of its callee, also with an error. */
function endGrpc(one, {code, metadata}) {
  const values = metadata ? metadata.get(HEADER_PATH) : [];
  const {span} = one;
  if (one.isOver()) return;
  if (code !== 0 && values.length === 0) one.fail(code === 4);
  else one.reply(values.map((value) => encodeBase64(Buffer.from(value))));
  if (!span.isTimeout) span.status = code === 0 ? null : GRPC_CODES[code] || String(code);
}

/**
 * new Client(target, credentials, {interceptors: [grpcClient('B')]}): calls of service B; its
 * path comes as trailing metadata. Streams carry the trace context, but are on no path.
 */
function grpcClient(callee) {
  const begin = ({path, requestStream, responseStream}, metadata) => {
    const span = above();
    const isUnary = !requestStream && !responseStream;
    const one = span === null || !isUnary ? null : new Call(callee, path);
    if (carried.getStore() !== undefined) ASK_HEADERS.forEach((name) => metadata.remove(name));
    for (const [key, value] of missingHeaders(Object.keys(metadata.getMap()))) {
      if (/^[ -~]*$/.test(value)) metadata.set(key, value); // what metadata may have
    }
    if (one !== null && one.span !== null) {
      const names = Object.keys(metadata.getMap());
      one.beside(names.map((name) => [name, metadata.get(name)]), path.length);
      for (const name of askNames(one)) metadata.set(name, one.headers[name]);
    }
    return one === null || one.span === null ? null : one;
  };
  return function interceptor(options, nextCall) {
    const call = nextCall(options);
    const {start} = call;
    call.start = function started(metadata, listener, ...more) {
      const [span, context] = [current.getStore(), carried.getStore()];
      const own = metadata.clone();
      let one = null;
      try {
        one = begin(options.method_definition, own);
      } catch {
        countError();
      }
      const end = quietly((status) => endGrpc(one, status));
      const follow = (event) => (word) => {
        if (event === 'onReceiveStatus' && one !== null) end(word);
        if (listener && listener[event]) runIn(span, context, () => listener[event](word));
      };
      const events = ['onReceiveMetadata', 'onReceiveMessage', 'onReceiveStatus'];
      const followed = Object.fromEntries(events.map((event) => [event, follow(event)]));
      return start.call(this, own, followed, ...more);
    };
    return call;
  };
}

/** The bytes of trailing metadata: 32 more for each field, and values of bytes in base64. */
function trailerBytes(metadata, details) {
  let bytes = 2 * 32 + 'grpc-status16grpc-message'.length + encodeURIComponent(details).length;
  for (const name of Object.keys(metadata.getMap())) {
    for (const {length} of metadata.get(name)) {
      bytes += 32 + name.length + (name.endsWith('-bin') ? Math.ceil((length * 4) / 3) : length);
    }
  }
  return bytes + 32 + HEADER_PATH.length;
}

/**
 * The trailing metadata of an answer with the path, if there is room for it; else as it was. An
 * error has no message, so that they are one block with its head, of which nginx takes a page.
 */
function addTrailer(service, request, call, error, trailer) {
  const given = trailer || (error && error.metadata);
  const metadata = given ? given.clone() : new call.metadata.constructor();
  metadata.remove(HEADER_PATH);
  const details = String((error && (error.details || error.message)) || '');
  const [limit, head] = error ? [HEADERS_BYTES_HTTP, GRPC_HEAD_BYTES] : [HEADERS_BYTES_GRPC, 0];
  if (request !== null) {
    request.status = error ? String(error.code ?? 'UNKNOWN') : 'OK';
    request.isFailed = Boolean(error);
  }
  const value = request === null ? null : request.end(pathBytesLeft(
    service.headersBytesMax ?? limit, head + trailerBytes(metadata, details)));
  if (value !== null) metadata.set(HEADER_PATH, Buffer.from(value, 'base64'));
  return metadata;
}

function grpcHandler(service, original) {
  return function traced(call, callback) {
    let request = null;
    let context;
    let answer = callback;
    const over = () => {
      if (context !== undefined) context.headers = null;
      if (request !== null) request.finish();
      request = null;
    };
    try {
      const {metadata} = call;
      const raw = Object.keys(metadata.getMap())
        .flatMap((name) => metadata.get(name).flatMap((value) => [name, String(value)]));
      const peer = call.getPeer().replace(/:[0-9]+$/, '').replace(/^\[|\]$/g, '');
      const asks = rawValues(raw, HEADER_ASK);
      if ((asks.length !== 0 || service.log !== null) && typeof callback === 'function') {
        request = service.begin(call.getPath(), asks, peer, isForwarded(raw),
          rawValues(raw, HEADER_NONCE));
      }
      context = service.carry(raw, peer, request !== null);
      if (request !== null) request.traceId = traceIdOf(context.headers);
      bindEvents(call, request === null ? null : request.root, context, (event) => {
        if (['cancelled', 'close', 'finish'].includes(event)) over();
      });
    } catch {
      service.counters.errors++;
    }
    if (typeof callback === 'function') {
      answer = (error, value, trailer, ...more) => {
        try {
          trailer = addTrailer(service, request, call, error, trailer);
        } catch {
          service.counters.errors++;
        }
        over();
        return callback(error, value, trailer, ...more);
      };
    }
    return runIn(request === null ? null : request.root, context,
      () => original.call(this, call, answer));
  };
}

/**
 * server.addService(definition, grpcServer(service, implementation)): calls with one answer have
 * paths; streams of answers only pass the trace context on.
 */
function grpcServer(service, implementation) {
  const names = new Set();
  let at = implementation; // an object, or one of a class
  for (; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  const entries = [...names].filter((name) => typeof implementation[name] === 'function')
    .map((name) => [name, grpcHandler(service, implementation[name].bind(implementation))]);
  return Object.fromEntries(entries);
}

// --- cpt-conformance ---

function hexOf(nonce) {
  return nonce.toString(16).padStart(16, '0');
}

function textOfPath({path, elapsedNs, nonce}) {
  const words = ['path', path.flags, path.sumNs, elapsedNs === null ? '-' : elapsedNs,
    nonce === 0n ? '-' : hexOf(nonce)];
  const base64 = (name) => encodeBase64(Buffer.from(name, 'latin1'));
  for (const {frame, ns, count, flags, reason, labels, drag} of path.segments) {
    const stack = path.stack(frame).map(({name, kind}) => `${kind}:${base64(name)}`).join(';');
    let text = `${ns}@${stack}@${count},${flags},${reason},${drag === null ? '-' : drag}`;
    for (const key of [...labels.keys()].sort((a, b) => a - b)) {
      const value = labels.get(key);
      text += LABEL_TAKES_NAME.get(key) ? `,${key}:${base64(value)}` : `,${key}=${value}`;
    }
    words.push(text);
  }
  return words.join(' ');
}

function latin1Of(base64) {
  return base64 === '-' ? '' : Buffer.from(base64, 'base64').toString('latin1');
}

function nonceOf(word) {
  return word === undefined || word === '-' ? 0n : parseNonce([word]);
}

function answerReply(budget, own, items) {
  const path = new Path();
  for (const item of items) {
    const [duration, stack, reply, sent] = item.split('@');
    let frame = -1;
    for (const text of stack.split(';')) {
      const [kind, name] = text.split(':');
      frame = path.frame(frame, latin1Of(name), Number(kind));
    }
    const how = reply === undefined ? null : readReply(reply === '-' ? null : reply, nonceOf(sent));
    if (how === null) path.append(frame, BigInt(duration));
    else splice(path, frame, BigInt(duration), how);
  }
  const data = encode(path, budget, path.sumNs, nonceOf(own));
  return data === null ? 'none' : `header ${encodeBase64(data)}`;
}

function answerAsk(words) {
  const ask = parseAsk(words.map(latin1Of));
  if (ask === null) return 'none';
  const [isForced, wantsDrag] = [ask.isForced, ask.wantsDrag].map(Number);
  return `${ask.version} ${ask.bytesMax} ${isForced} ${wantsDrag} ${ask.graph || '-'}`;
}

function answerOnward(own, words) {
  const ask = parseAsk(words.map(latin1Of));
  if (ask === null) return 'none';
  const text = formatAsk(Math.min(own, ask.bytesMax), ask);
  return `header ${encodeBase64(Buffer.from(text, 'latin1'))}`;
}

function answer([kind, ...words]) {
  if (kind === 'ask') return answerAsk(words);
  if (kind === 'nonce') {
    const nonce = parseNonce(words.map(latin1Of));
    return nonce === 0n ? 'none' : hexOf(nonce);
  }
  if (kind === 'onward') return answerOnward(Number(words[0]), words.slice(1));
  if (kind === 'path') {
    try {
      return textOfPath(decodeHeader(words[0] === '-' ? '' : words[0]));
    } catch (error) {
      if (error instanceof Refused) return 'refused';
      throw error;
    }
  }
  if (kind === 'proxy') return isForwarding(latin1Of(words[0])) ? 'yes' : 'no';
  return kind === 'reply' ? answerReply(Number(words[0]), words[1], words.slice(2)) : 'unknown';
}

/** Answers the lines of `cpt-conformance`. */
function conformance() {
  const lines = require('node:readline').createInterface({input: process.stdin});
  lines.on('line', (line) => {
    const [number, ...words] = line.split(' ');
    process.stdout.write(`${number} ${answer(words)}\n`);
  });
}

module.exports = {
  HEADER_ASK, HEADER_NONCE, HEADER_PATH, Refused, isForwarding, isForwarded, parseTraceparent,
  joinTracestate, traceContext, Path, parseAsk, formatAsk, decode, decodeHeader, encode,
  encodeBase64, splice, SPANS_MAX, NAMES_MAX, Service, handler, part, Call, install, uninstall,
  current, parseNonce, bind, detached, attribute, Log, grpcClient, grpcServer,
};

if (require.main === module) {
  if (process.argv[2] === '--conformance') {
    conformance();
  } else {
    process.stderr.write('usage: cpt_trace.js --conformance\n');
    process.exitCode = 2;
  }
}
