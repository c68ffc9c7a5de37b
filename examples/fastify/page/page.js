// A page without a framework, a bundler or a library: what PROTOCOL.md calls "a first client", over SSE.

const session = crypto.randomUUID();
const main = document.querySelector('main');
const form = document.querySelector('form');
const input = document.querySelector('input');

/** The browser tools of the page. */
const tools = {
  paint_page({ colour }) {
    document.body.style.background = colour;
    return { painted: colour };
  },
};

function show(tag, text, className = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = className;
  main.append(element);
  return element;
}

/** Asks the user about a call: resolves with their decision. */
function ask({ toolName, input: args }) {
  const box = show('fieldset', '');
  const legend = document.createElement('legend');
  legend.textContent = `${toolName} ${JSON.stringify(args)}`;
  box.append(legend);
  return new Promise((resolve) => {
    for (const [name, approved] of [
      ['Approve', true],
      ['Deny', false],
    ]) {
      const button = document.createElement('button');
      button.textContent = name;
      button.onclick = () => {
        box.remove();
        resolve(approved);
      };
      box.append(button);
    }
  });
}

/** The chunks of a response, which come as server-sent events. */
async function* chunksOf(response) {
  if (!response.ok) throw new Error(await response.text());
  let rest = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined && data !== 'data: [DONE]') yield JSON.parse(data.slice('data: '.length));
    }
  }
}

/** Posts a message, shows the response, and posts the answers to calls, until no call waits for one. */
async function post(message) {
  const response = await fetch('/api/chat/stream', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: session, messages: [message] }),
  });
  let id;
  let text;
  const calls = new Map();
  const answers = [];
  for await (const chunk of chunksOf(response)) {
    const call = calls.get(chunk.toolCallId) ?? chunk;
    const part = { type: `tool-${call.toolName}`, toolCallId: call.toolCallId, input: call.input };
    if (chunk.type === 'start') id = chunk.messageId;
    if (chunk.type === 'text-start') text = show('p', '', 'agent');
    if (chunk.type === 'text-delta') text.textContent += chunk.delta;
    if (chunk.type === 'error') show('p', chunk.errorText, 'error');
    if (chunk.type === 'tool-input-available') calls.set(chunk.toolCallId, chunk);
    if (chunk.type === 'tool-input-available' && chunk.toolMetadata?.runsOn === 'client') {
      answers.push({ ...part, state: 'output-available', output: tools[chunk.toolName](chunk.input) });
    }
    if (chunk.type === 'tool-approval-request') {
      const decision = ask(call).then((approved) => ({
        ...part,
        state: 'approval-responded',
        approval: { id: chunk.approvalId, approved },
      }));
      answers.push(decision);
    }
  }
  if (answers.length > 0) await post({ id, role: 'assistant', parts: await Promise.all(answers) });
}

form.onsubmit = async (event) => {
  event.preventDefault();
  const text = input.value;
  input.value = '';
  show('p', text, 'user');
  try {
    await post({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
  } catch (error) {
    show('p', error.message, 'error');
  }
};
