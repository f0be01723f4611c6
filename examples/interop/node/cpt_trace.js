// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
/*
 * Critical paths of Node services: one file, no dependencies, Node 18.
 *
 *     caller  --- critical-path: 1;max=2048 -->  this service  --- the same -->  callee
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
 *     cpt metadata --conformance 'node cpt_trace.js --conformance'
 *
 * and the recording (a request, its parts and calls, the walk that finds the path). Bytes of
 * names are kept as strings of one character for each byte ("latin1"), durations as BigInt.
 */
'use strict';

const {AsyncLocalStorage} = require('node:async_hooks');
const {randomBytes} = require('node:crypto');
const diagnostics = require('node:diagnostics_channel');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');

const HEADER_ASK = 'critical-path';
const HEADER_PATH = 'critical-path-bin';
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

const WORK = 0, NETWORK = 2, UNATTRIBUTED = 3, BLIND_SPOT = 4, TIMEOUT = 5, FOLDED = 6;
const OTHER = 14;
const REASON = {NONE: 0, UNSUPPORTED: 1, SIZE: 3, UNDECODABLE: 4, FAILED: 5, CACHED: 6};
const UNORDERED = 1, INCOMPLETE = 2, APPROXIMATE = 4; // flags of a path
const OVERCOUNT = 1, IS_FOLDED = 2; // flags of a segment
const LABEL_EXCESS = 5, LABEL_STATUS = 6;
const LABEL_TAKES_NAME = new Map([
  [1, false], [2, false], [3, true], [4, true], [5, false], [6, true], [7, false],
  [8, false], [9, false], [10, false],
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
  const ask = {version: Number(match[1]), bytesMax: BYTES_DEFAULT, isForced: false};
  for (const [, key, value] of match[2].matchAll(PARAMETER)) {
    if (key === 'max') {
      if (value === undefined || !/^[0-9]+$/.test(value)) return null;
      ask.bytesMax = Math.min(Number(value), NUMBER_MAX);
    } else if (key === 'forced') {
      if (value !== undefined && value !== '?0' && value !== '?1') return null;
      ask.isForced = value !== '?0';
    }
  }
  return ask;
}

/** The value of the header for a callee; forcing ends at the entry. */
function formatAsk(bytesMax) {
  return `1;max=${bytesMax}`;
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

/** Frames {parent or -1, name, kind}; segments {frame, ns, count, flags, reason, labels}. */
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

  append(frame, ns, {count = 1, flags = 0, reason = 0, labels = new Map()} = {}) {
    if (ns <= 0n) return null;
    if (this.sumNs + ns > NS_MAX) throw new Refused('the durations are not below 2^63 ns');
    this.sumNs += ns;
    const segment = {frame, ns, count, flags, reason, labels};
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
  [17, {base: 14, isWide: true}],
]);

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
  const message = {scalars: [], names: [], columns: new Map()};
  let nameBytes = 0;
  for (const field of COLUMNS.keys()) message.columns.set(field, []);
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag > U32_MAX) throw new Refused('a tag of more than 32 bits');
    const field = Math.floor(Number(tag) / 8);
    const wireType = Number(tag) % 8;
    if (field === 0) throw new Refused('field 0');
    const isKnown = field <= 17;
    const wanted = field <= 4 ? [0] : field === 5 ? [2] : [0, 2];
    if (isKnown && !wanted.includes(wireType)) {
      throw new Refused(`field ${field} has wire type ${wireType}`);
    }
    if (!isKnown) {
      reader.skip(wireType);
    } else if (field <= 4) {
      message.scalars[field] = BigInt(reader.varint());
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
    for (let i = 0; i < missing; i++) column.push(0);
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

/** The path in the bytes of a callee, and its elapsedNs or null. Throws Refused. */
function decode(data) {
  const message = readMessage(data);
  const path = new Path();
  checkMessage(message);
  addFrames(path, message);
  const labels = readLabels(message);
  const [frames, durations, counts, flags, reasons] =
    [9, 10, 11, 12, 13].map((field) => message.columns.get(field));
  for (let row = 0; row < frames.length; row++) {
    if (frames[row] >= path.frames.length || durations[row] === 0n ||
        counts[row] === U32_MAX || flags[row] > 65535 || reasons[row] > 255) {
      throw new Refused(`segment ${row}`);
    }
    path.append(frames[row], durations[row], {
      count: counts[row] + 1, flags: flags[row], reason: reasons[row],
      labels: labels.get(row),
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
  return {path, elapsedNs: message.scalars[2] === undefined ? null : message.scalars[2]};
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
  constructor(path, elapsedNs) {
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
function encode(path, bytesMax = BYTES_DEFAULT, elapsedNs = null) {
  const form = new Form(path, elapsedNs);
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

// --- Recording a request ---

const SPANS_MAX = 1000; // parts and calls of a request; more are lost, and the path says so
const NAMES_MAX = 1000; // names that requests of a service may invent

// The span in which the current asynchronous context is.
const current = new AsyncLocalStorage();

// The trace context that calls carry, as headers; also of a request that is not traced.
const carried = new AsyncLocalStorage();

// Headers of proxies: such a request comes from outside, from any peer.
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip'];

/** A part or a call: a name, an interval, the span that it began in. */
class Span {
  constructor(request, parent, name, isCall, startNs) {
    Object.assign(this, {request, parent, name, isCall, startNs});
    this.endNs = null;
    this.reply = null;
    this.reason = REASON.UNSUPPORTED;
    this.isTimeout = false;
    this.status = null;
  }
}

/**
 * What requests of this process have in common.
 *
 * trust    networks of callers that get paths ('10.0.0.0/8'), or a function of the peer's
 *          address; by default no caller gets one
 * callees  {'host:port': 'B'}: who is asked for paths, and the service's name there
 * method   a function of a URL's path: the method's name; by default the path itself
 * onPath   is called with the Path of each request that is traced, after its end
 */
class Service {
  constructor(name, {trust = [], callees = {}, bytesMax = BYTES_DEFAULT, method = (path) => path,
    onPath = null, clock = process.hrtime.bigint} = {}) {
    this.name = name;
    this.callees = new Map(Object.entries(callees));
    this.bytesMax = Math.min(bytesMax, BYTES_CEILING);
    this.method = method;
    this.onPath = onPath;
    this.clock = clock;
    this.counters = {requestsTraced: 0, asksMalformed: 0, asksUntrusted: 0, repliesRefused: 0,
      traceparentsRefused: 0, tracestatesRefused: 0, errors: 0};
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

  /** The request, if it is to be traced: if a trusted caller asks. Else null. */
  begin(path, asks, peer, isForwarded = false) {
    try {
      if (asks.length === 0) return null;
      const ask = parseAsk(asks);
      if (ask === null) {
        this.counters.asksMalformed++;
        return null;
      }
      if (isForwarded || !this.isTrusted(peer)) {
        this.counters.asksUntrusted++;
        return null;
      }
      this.counters.requestsTraced++;
      return new Request(this, this.nameOf(this.name, this.method(path)), ask);
    } catch {
      this.counters.errors++;
      return null;
    }
  }
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

/** One request that is traced. */
class Request {
  constructor(service, name, ask) {
    this.service = service;
    this.bytesMax = Math.min(ask.bytesMax, service.bytesMax);
    this.isIncomplete = false;
    this.header = null;
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

  /** The value of the header critical-path-bin, or null. Ends the request: what comes later
   * is on no path. */
  end() {
    if (this.root.endNs !== null) return this.header;
    this.root.endNs = this.service.clock();
    try {
      this.path = this.makePath();
      const data = encode(this.path, this.bytesMax, this.path.sumNs);
      this.header = data === null ? null : encodeBase64(data);
      if (this.service.onPath !== null) this.service.onPath(this.path);
    } catch {
      this.service.counters.errors++;
    }
    return this.header;
  }

  /** The frame of a span below those of the spans that it began in. */
  frameOf(path, span, frames) {
    const missing = [];
    let at = span;
    for (; at !== null && !frames.has(at); at = at.parent) missing.push(at);
    let frame = at === null ? -1 : frames.get(at);
    for (const one of missing.reverse()) {
      frame = path.frame(frame, one.name === null ? '' : one.name, one.name === null ? OTHER : WORK);
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
    let how = {reason: span.reason};
    if (span.isTimeout) {
      appendKind(path, frame, TIMEOUT, observedNs);
    } else {
      try {
        if (span.reply !== null) {
          const {path: callee, elapsedNs} = decodeHeader(span.reply);
          how = {callee, elapsedNs, reason: span.reason};
        }
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.service.counters.repliesRefused++;
        how = {reason: REASON.UNDECODABLE};
      }
      splice(path, frame, observedNs, how);
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

/** A new span of the current request; null if there is none. */
function enter(name, isCall) {
  const above = current.getStore();
  if (above === undefined || above === null) return null;
  try {
    return above.request.open(above, name(above.request.service), isCall);
  } catch {
    above.request.service.counters.errors++;
    return null;
  }
}

function leave(span) {
  if (span !== null && span.endNs === null) span.endNs = span.request.service.clock();
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
  if (result === null || typeof result !== 'object' || typeof result.then !== 'function') {
    leave(span);
    return result;
  }
  return result.then(
    (value) => {
      leave(span);
      return value;
    },
    (error) => {
      leave(span);
      throw error;
    },
  );
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
    this.headers = {};
    if (this.span !== null && isAsked) {
      this.headers[HEADER_ASK] = formatAsk(this.span.request.bytesMax);
    }
    Object.assign(this.headers, carried.getStore());
  }

  /** The answer has come, with one value of the header, or an array of them. */
  reply(values, status = 0, isCached = false) {
    const span = this.span;
    if (span === null || span.endNs !== null) return;
    leave(span);
    const list = values === undefined || values === null ? [] : [].concat(values);
    if (this.isAsked && isCached) {
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
    const span = this.span;
    if (span === null || span.endNs !== null) return;
    leave(span);
    span.isTimeout = isTimeout;
    span.reason = REASON.FAILED;
    span.status = isTimeout ? 'DEADLINE' : 'UNAVAILABLE';
  }
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

/** The values that headers of writeHead() have for one. */
function valuesIn(headers, header) {
  const pairs = !Array.isArray(headers) ? Object.entries(headers)
    : headers.length !== 0 && Array.isArray(headers[0]) ? headers
      : headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
  return pairs.filter(([name]) => String(name).toLowerCase() === header)
    .flatMap(([, value]) => value);
}

/** Adds the path to a response; a cache between must not give it to those who did not ask. */
function addPath(response, value, words) {
  const isHeaders = (word) => word !== null && typeof word === 'object';
  const varies = [response.getHeader('vary') ?? [], words.filter(isHeaders)
    .flatMap((word) => valuesIn(word, 'vary')), HEADER_ASK].flat();
  response.setHeader(HEADER_PATH, value);
  response.setHeader('Vary', varies.join(', '));
  return words.map((word) => (isHeaders(word) ? without(word, 'vary') : word));
}

/** Adds the path to the head of a response, when it is written. */
function hookHead(service, request, response) {
  const writeHead = response.writeHead;
  response.writeHead = function hooked(...words) {
    try {
      if (!this.headersSent) {
        this.removeHeader(HEADER_PATH);
        words = words.map((word) =>
          word !== null && typeof word === 'object' ? without(word, HEADER_PATH) : word);
        const value = request === null ? null : request.end();
        if (value !== null) words = addPath(this, value, words);
      }
    } catch {
      service.counters.errors++;
    }
    return writeHead.apply(this, words);
  };
}

/** A listener for http.createServer(), around one of the application. */
function handler(service, listener) {
  return function traced(incoming, response) {
    let request = null;
    let context;
    try {
      const asks = rawValues(incoming.rawHeaders, HEADER_ASK);
      if (asks.length !== 0) {
        request = service.begin(incoming.url.split('?')[0], asks, incoming.socket.remoteAddress,
          FORWARDED.some((name) => name in incoming.headers));
      }
      context = traceContext(rawValues(incoming.rawHeaders, HEADER_TRACEPARENT),
        rawValues(incoming.rawHeaders, HEADER_TRACESTATE), request !== null, service.counters);
      hookHead(service, request, response);
    } catch {
      service.counters.errors++;
    }
    return carried.run(context, () => current.run(request === null ? null : request.root,
      () => listener.call(this, incoming, response)));
  };
}

// --- Clients ---

/** A call to host:port, if the current request is traced. */
function beginCall(authority, path) {
  const above = current.getStore();
  if (above === undefined || above === null) return null;
  const {service} = above.request;
  try {
    const callee = service.callees.get(authority);
    const method = service.method(path.split('?')[0]);
    return new Call(callee === undefined ? authority : callee, method, callee !== undefined);
  } catch {
    service.counters.errors++;
    return null;
  }
}

/** Follows a request of http to its answer. Its events are watched where they are emitted: a
 * listener more would change what happens to an answer that has none. */
function followRequest(request, one) {
  const emit = request.emit;
  let isTimeout = false;
  request.emit = function watched(event, ...words) {
    try {
      if (event === 'response') {
        const [answer] = words;
        one.reply(rawValues(answer.rawHeaders, HEADER_PATH), answer.statusCode,
          isFromCache(answer.rawHeaders));
      } else if (event === 'timeout') {
        isTimeout = true;
      } else if (event === 'error' || event === 'close' || event === 'abort') {
        const error = words[0] || {};
        const names = [error.code, error.name, error.cause && error.cause.name];
        one.fail(isTimeout || names.includes('ETIMEDOUT') || names.includes('TimeoutError'));
      }
    } catch {
      if (one.span !== null) one.span.request.service.counters.errors++;
    }
    return emit.call(this, event, ...words);
  };
}

/** Adds the trace context to a request that has none of its own. */
function carry(request) {
  const context = carried.getStore();
  if (!context || request.headersSent || request.hasHeader(HEADER_TRACEPARENT)) return;
  try {
    for (const [key, value] of Object.entries(context)) request.setHeader(key, value);
  } catch {
    // the head is on its way: it goes without
  }
}

function hookRequest(module, name) {
  const original = module[name];
  module[name] = function hooked(...words) {
    if (name === 'get') { // get() itself calls the original request()
      const request = module.request(...words);
      request.end();
      return request;
    }
    if (current.getStore() === undefined || current.getStore() === null) {
      const request = original.apply(this, words);
      carry(request);
      return request;
    }
    const {service} = current.getStore().request;
    const startNs = service.clock();
    const request = original.apply(this, words);
    carry(request);
    try {
      const host = String(request.getHeader('host') || '');
      const port = module === https ? 443 : 80;
      const authority = /:[0-9]+$/.test(host) ? host : `${host}:${port}`;
      const one = beginCall(authority, request.path);
      if (one !== null && one.span !== null) {
        one.span.startNs = startNs;
        if (request.headersSent) one.isAsked = false;
        else if (HEADER_ASK in one.headers) request.setHeader(HEADER_ASK, one.headers[HEADER_ASK]);
        followRequest(request, one);
      }
    } catch {
      service.counters.errors++;
    }
    return request;
  };
  originals.push(() => {
    module[name] = original;
  });
}

const fetches = new WeakMap(); // the calls of requests of undici, which fetch() uses

/** Whether a request of undici, whose headers are a text or a list, has a traceparent. */
function hasTraceparent(request) {
  const text = [].concat(request.headers || []).join('\n');
  return new RegExp(`(^|\n)${HEADER_TRACEPARENT}(:|\r?\n)`, 'i').test(text);
}

function onFetch({request}) {
  const context = carried.getStore();
  if (context && !hasTraceparent(request)) {
    for (const [key, value] of Object.entries(context)) request.addHeader(key, value);
  }
  const host = new URL(request.origin);
  const port = host.port || (host.protocol === 'https:' ? '443' : '80');
  const one = beginCall(`${host.hostname}:${port}`, request.path);
  if (one === null || one.span === null) return;
  fetches.set(request, one);
  if (HEADER_ASK in one.headers) request.addHeader(HEADER_ASK, one.headers[HEADER_ASK]);
}

function onFetchHeaders({request, response}) {
  const one = fetches.get(request);
  if (one === undefined || response.statusCode < 200) return;
  const raw = response.headers.map((word) => word.toString('latin1'));
  one.reply(rawValues(raw, HEADER_PATH), response.statusCode, isFromCache(raw));
}

function onFetchError({request, error}) {
  const one = fetches.get(request);
  if (one !== undefined) one.fail(/Timeout/.test(String(error)));
}

/** A subscriber that never throws: undici would report that as its own failure. */
function quietly(subscriber) {
  return (message) => {
    try {
      subscriber(message);
    } catch {
      const above = current.getStore();
      if (above) above.request.service.counters.errors++;
    }
  };
}

const originals = [];

function subscribe(name, subscriber) {
  const channel = diagnostics.channel(name);
  const quiet = quietly(subscriber);
  channel.subscribe(quiet);
  originals.push(() => channel.unsubscribe(quiet));
}

/** Hooks for http, https and fetch(). */
function install() {
  if (originals.length !== 0) return;
  for (const module of [http, https]) {
    hookRequest(module, 'request');
    hookRequest(module, 'get');
  }
  subscribe('undici:request:create', onFetch);
  subscribe('undici:request:headers', onFetchHeaders);
  subscribe('undici:request:error', onFetchError);
  require('node:module').syncBuiltinESMExports();
}

function uninstall() {
  for (const restore of originals.splice(0)) restore();
  require('node:module').syncBuiltinESMExports();
}

// --- cpt metadata --conformance ---

function textOfPath({path, elapsedNs}) {
  const words = ['path', path.flags, path.sumNs, elapsedNs === null ? '-' : elapsedNs];
  const base64 = (name) => encodeBase64(Buffer.from(name, 'latin1'));
  for (const {frame, ns, count, flags, reason, labels} of path.segments) {
    const stack = path.stack(frame).map(({name, kind}) => `${kind}:${base64(name)}`).join(';');
    let text = `${ns}@${stack}@${count},${flags},${reason}`;
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

function answerReply(budget, items) {
  const path = new Path();
  for (const item of items) {
    const [duration, stack, reply] = item.split('@');
    let frame = -1;
    for (const text of stack.split(';')) {
      const [kind, name] = text.split(':');
      frame = path.frame(frame, latin1Of(name), Number(kind));
    }
    if (reply === undefined) {
      path.append(frame, BigInt(duration));
    } else if (reply === '-') {
      splice(path, frame, BigInt(duration), {reason: REASON.UNSUPPORTED});
    } else {
      let how = {reason: REASON.UNDECODABLE};
      try {
        const {path: callee, elapsedNs} = decodeHeader(reply);
        how = {callee, elapsedNs, reason: REASON.UNDECODABLE};
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
      }
      splice(path, frame, BigInt(duration), how);
    }
  }
  const data = encode(path, budget, path.sumNs);
  return data === null ? 'none' : `header ${encodeBase64(data)}`;
}

function answer([kind, ...words]) {
  if (kind === 'ask') {
    const ask = parseAsk(words.map(latin1Of));
    return ask === null ? 'none' : `${ask.version} ${ask.bytesMax} ${ask.isForced ? 1 : 0}`;
  }
  if (kind === 'path') {
    try {
      return textOfPath(decodeHeader(words[0] === '-' ? '' : words[0]));
    } catch (error) {
      if (error instanceof Refused) return 'refused';
      throw error;
    }
  }
  return kind === 'reply' ? answerReply(Number(words[0]), words.slice(1)) : 'unknown';
}

/** Answers the lines of `cpt metadata --conformance`. */
function conformance() {
  const lines = require('node:readline').createInterface({input: process.stdin});
  lines.on('line', (line) => {
    const [number, ...words] = line.split(' ');
    process.stdout.write(`${number} ${answer(words)}\n`);
  });
}

module.exports = {
  HEADER_ASK, HEADER_PATH, Refused, parseTraceparent, joinTracestate, traceContext, Path, parseAsk, formatAsk, decode, decodeHeader, encode,
  encodeBase64, splice, SPANS_MAX, NAMES_MAX, Service, handler, part, Call, install, uninstall,
  current,
};

if (require.main === module) {
  if (process.argv[2] === '--conformance') {
    conformance();
  } else {
    process.stderr.write('usage: cpt_trace.js --conformance\n');
    process.exitCode = 2;
  }
}
