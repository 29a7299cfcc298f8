/**
 * The thread that runs foreign code in QuickJS. Plain JavaScript, because it is loaded by path both
 * from the sources and beside the compiled program. One task at a time; each has a WebAssembly
 * instance of its own, so that nothing, not even a damaged heap, is left for the next. The guest
 * gets no function of the host but `print`, and that one only through the prelude's `console`.
 *
 * What the interrupt handler cannot stop (long native calls) the pool ends by terminating this
 * thread.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } from 'quickjs-emscripten';
import { preludeSource } from './quickjs-prelude.mjs';

/** Needs a thread stack of 16 MB: with less, V8 overflows before QuickJS notices. */
const stackBytesMax = 512 * 1024;
/** Lent above the limit once the code has ended, to take out its result or its error. */
const readOutBytes = 1024 * 1024;
const messageCharacters = 2000;
const initialPages = 256;
/** What the smallest run touches of its memory, and how much of that may lie about. */
const touchedBytes = 512 * 1024;
const garbageBytesMax = 48 * 1024 * 1024;
const encoder = new TextEncoder();

const own = createRequire(import.meta.url);
const wasmFile = createRequire(own.resolve('quickjs-emscripten')).resolve(
  '@jitl/quickjs-wasmfile-release-sync/wasm',
);
// V8 shares the machine code of equal bytes between threads.
const wasmModule = await WebAssembly.compile(await readFile(wasmFile));

function instantiate() {
  const wasmMemory = new WebAssembly.Memory({
    initial: initialPages,
    maximum: initialPages + workerData.pagesMax,
  });
  const variant = newVariant(RELEASE_SYNC, { wasmModule, wasmMemory });
  return newQuickJSWASMModuleFromVariant(variant).then((quickjs) => ({ quickjs, wasmMemory }));
}

/** A task in its instance. `stop` is the reason for which the code was interrupted, if it was. */
class Sandbox {
  constructor({ quickjs, wasmMemory }, task) {
    this.task = task;
    this.wasmMemory = wasmMemory;
    this.flags = new Int32Array(workerData.shared, 0, 3);
    this.printed = new Uint8Array(workerData.shared, 12, task.printedBytesMax);
    this.deadlineMs = performance.now() + task.limits.timeMs;
    this.stop = undefined;
    this.runtime = quickjs.newRuntime();
    this.runtime.setMaxStackSize(stackBytesMax);
    this.vm = this.runtime.newContext();
  }

  isOver() {
    if (Atomics.load(this.flags, 0) !== 0) this.stop = 'aborted';
    else if (this.flags[2] !== 0) this.stop = 'output';
    else if (performance.now() > this.deadlineMs) this.stop = 'time';
    return this.stop !== undefined;
  }

  /**
   * Writes whole characters, as many as fit; sets the flag `truncated` when they do not all fit.
   */
  print(handle) {
    if (this.flags[2] !== 0) return;
    const room = this.printed.length - this.flags[1];
    const length = this.lengthOf(handle);
    // The prelude cuts before it prints; who got around it is not worth the copy.
    if (length > room + 1) this.flags[2] = 1;
    else this.write(this.vm.getString(handle), room);
  }

  write(text, room) {
    // A character is at most three bytes. The shared buffer itself cannot be encoded into.
    const bytes = new Uint8Array(Math.min(room, 3 * text.length));
    const { read, written } = encoder.encodeInto(text, bytes);
    this.printed.set(bytes.subarray(0, written), this.flags[1]);
    this.flags[1] += written;
    if (read < text.length) this.flags[2] = 1;
  }

  lengthOf(handle) {
    return this.vm.getProp(handle, 'length').consume((length) => this.vm.getNumber(length));
  }

  boot() {
    const print = this.vm.newFunction('print', (handle) => this.print(handle));
    const bounds = this.vm.newObject();
    const set = (name, value) => this.vm.setProp(bounds, name, this.vm.newNumber(value));
    set('printCharacters', this.printed.length);
    set('messageCharacters', messageCharacters);
    const guest = this.vm.unwrapResult(this.vm.evalCode(preludeSource, 'prelude.js'));
    const functions = this.call(guest, print, bounds).value;
    this.toJson = this.vm.getProp(functions, 'toJson');
    this.describe = this.vm.getProp(functions, 'describe');
    this.parse = this.vm.getProp(functions, 'parse');
    // Only now: a limit too small for the prelude is then still met by the code, with a plain
    // error.
    this.runtime.setMemoryLimit(this.task.limits.memoryBytes);
    this.runtime.setInterruptHandler(() => this.isOver());
  }

  call(callee, ...values) {
    return this.vm.callFunction(callee, this.vm.undefined, ...values);
  }

  run() {
    this.boot();
    // On one line with the first line of the code, so that line numbers are those of the sender.
    const source = `(function (input) {${this.task.code}\n})`;
    const compiled = this.vm.evalCode(source, 'code.js');
    if (compiled.error) return this.failed(compiled.error, 'syntax');
    const input = this.call(this.parse, this.vm.newString(this.task.input));
    if (input.error) return this.failed(input.error, 'memory');
    const returned = this.call(compiled.value, input.value);
    if (returned.error) return this.failed(returned.error, 'threw');
    return this.result(returned.value);
  }

  result(returned) {
    const { outputBytes, memoryBytes } = this.task.limits;
    const json = this.call(this.toJson, returned);
    if (json.error) return this.failed(json.error, 'not-json');
    if (this.isOver()) return { code: this.stop };
    if (this.vm.typeof(json.value) !== 'string') return { code: 'not-json', message: '' };
    if (this.lengthOf(json.value) > outputBytes) return { code: 'output' };
    // A character is at most three bytes; a copy that does not fit would come back as an empty
    // text.
    this.runtime.setMemoryLimit(memoryBytes + 3 * outputBytes + readOutBytes);
    const value = this.vm.getString(json.value);
    return Buffer.byteLength(value) > outputBytes ? { code: 'output' } : { value };
  }

  failed(error, code) {
    if (this.isOver()) return { code: this.stop };
    this.runtime.setMemoryLimit(this.task.limits.memoryBytes + readOutBytes);
    const described = this.call(this.describe, error);
    if (this.stop !== undefined) return { code: this.stop };
    if (described.error || this.lengthOf(described.value) > 8 * messageCharacters) {
      return { code, message: 'something that cannot be shown' };
    }
    const [name, message, stack] = JSON.parse(this.vm.getString(described.value));
    if (message === 'null' && this.wasFull()) return { code: 'memory' };
    return { code: classOf(name, message, code), message, name, line: this.lineIn(stack) };
  }

  /**
   * Where no memory is left for the error itself, QuickJS throws null. The memory never shrinks.
   */
  wasFull() {
    return this.wasmMemory.buffer.byteLength > 0.75 * this.task.limits.memoryBytes;
  }

  lineIn(stack) {
    const line = Number(/code\.js:(\d+)/.exec(stack)?.[1]);
    return line >= 1 && line <= this.task.code.split('\n').length ? line : undefined;
  }

  memoryBytes() {
    this.runtime.removeInterruptHandler();
    this.runtime.setMemoryLimit(-1);
    const usage = this.runtime.computeMemoryUsage();
    const held = this.vm.getProp(usage, 'memory_used_size');
    return held.consume((handle) => this.vm.getNumber(handle));
  }
}

function classOf(name, message, code) {
  if (name === 'InternalError' && message === 'out of memory') return 'memory';
  // QuickJS says it as an InternalError from calls and as a SyntaxError from its parsers.
  if (message === 'stack overflow') return 'stack';
  // Code can close the function that it is put into, and then throw while it is being compiled.
  return code === 'syntax' && name !== 'SyntaxError' ? 'threw' : code;
}

/**
 * A trap of the WebAssembly engine comes here; only the stack of the thread is told by its error.
 */
function trapped(error) {
  if (error instanceof RangeError) return { code: 'stack' };
  return { code: 'lost', message: String(error?.message ?? error).slice(0, messageCharacters) };
}

function perform(instance, task) {
  try {
    const sandbox = new Sandbox(instance, task);
    const ended = sandbox.run();
    return { ...ended, memoryBytes: sandbox.memoryBytes() };
  } catch (error) {
    return trapped(error);
  }
}

// Left to itself V8 keeps hundreds of dead instances, each with the memory that its code had
// touched.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
let garbageBytes = 0;

function tidy(wasmMemory) {
  garbageBytes += wasmMemory.buffer.byteLength - initialPages * 65_536 + touchedBytes;
  if (garbageBytes < garbageBytesMax) return;
  collectGarbage();
  garbageBytes = 0;
}

// The next instance is made while nobody waits for it.
let prepared = instantiate();
await prepared;
parentPort.on('message', async (task) => {
  const instance = await prepared;
  const startedMs = performance.now();
  const ended = perform(instance, task);
  parentPort.postMessage({ ...ended, durationMs: Math.ceil(performance.now() - startedMs) });
  tidy(instance.wasmMemory);
  prepared = instantiate();
});
parentPort.postMessage('ready');
