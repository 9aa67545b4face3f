// Compares the fingerprint test vectors with an RFC 8785 library that knows nothing of idem.
// Usage: npm ci && node check.mjs [vectors.json]

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import canonicalize from 'canonicalize';

const MINIMUM = 60;
const FIELDS = ['name', 'amount_minor', 'currency', 'details', 'operation', 'order_ref', 'canonical', 'request_hash'];
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// Writes a decimal literal as sign, digits without outer zeros, and exponent, so that equal values give equal text.
function decimal(literal) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal);
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

// Tells whether a number survives a trip through a double with the value it was written with.
function isDouble(literal) {
  const value = Number(literal);
  return Number.isFinite(value) && decimal(String(value)) === decimal(literal);
}

function numbersOf(json) {
  return json.match(STRING_OR_NUMBER)?.filter((token) => !token.startsWith('"')) ?? [];
}

function sha256(text) {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function hashedObject(vector) {
  return {
    amount_minor: Number(vector.amount_minor),
    currency: vector.currency,
    details: JSON.parse(vector.details),
    operation: vector.operation,
    order_ref: vector.order_ref,
  };
}

const file = process.argv[2] ?? new URL('../data/fingerprint-v1.json', import.meta.url);
const { version, vectors } = JSON.parse(readFileSync(file, 'utf8'));
const names = new Set();
let mismatches = 0;
let compared = 0;
let stated = 0;

function report(name, what, expected, found) {
  mismatches += 1;
  console.error(`${name}: ${what}\n  expected ${expected}\n  found    ${found}`);
}

if (version !== 1) report('file', 'version', 1, version);

for (const vector of vectors) {
  const { name } = vector;
  const fields = Object.keys(vector).sort().join(' ');
  if (fields !== [...FIELDS].sort().join(' ')) report(name, 'fields', FIELDS.join(' '), fields);
  if (names.has(name)) report(name, 'name', 'a unique name', 'a name used twice');
  names.add(name);

  const hash = sha256(vector.canonical);
  if (hash !== vector.request_hash) report(name, 'hash of the stated text', vector.request_hash, hash);

  if ([vector.amount_minor, ...numbersOf(vector.details)].every(isDouble)) {
    compared += 1;
    const canonical = canonicalize(hashedObject(vector));
    if (canonical !== vector.canonical) report(name, 'canonical text', vector.canonical, canonical);
    if (sha256(canonical) !== vector.request_hash) report(name, 'hash', vector.request_hash, sha256(canonical));
  } else {
    stated += 1;
  }
}

if (vectors.length < MINIMUM) report('file', 'number of vectors', `at least ${MINIMUM}`, vectors.length);
if (compared === 0) report('file', 'vectors compared with the library', 'at least 1', 0);

if (mismatches > 0) {
  console.log(`fingerprint vectors: ${mismatches} mismatches in ${vectors.length} vectors`);
  process.exit(1);
}
console.log(
  `fingerprint vectors: ${compared} of ${vectors.length} agree with canonicalize (RFC 8785), ` +
    `${stated} hold numbers beyond doubles (hash of the stated text agrees)`,
);
