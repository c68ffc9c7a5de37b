import { transferableAbortController } from 'node:util';

/** The browser environment brings abort signals of its own, which Node's fetch refuses: Node's take their place again. */
const native = transferableAbortController();
Object.assign(globalThis, { AbortController: native.constructor, AbortSignal: native.signal.constructor });
