import { addCitations } from './citations.ts';
import { isObject, list, type Obj, obj, objects, str } from './json.ts';
import { addReasoning, addRedacted, addRefusal, addText } from './output.ts';
import { readBuiltin, readCall, readPart } from './parts.ts';
import type { Output, ResponseFacts } from './reading.ts';

/** Reads content: a text, a list of parts, or Gemini's object with such a list. */
export function readContent(out: Output, content: unknown, record: ResponseFacts): void {
  if (typeof content === 'string') {
    if (content) addText(out, content);
  } else
    for (const part of list(isObject(content) ? content.parts : content))
      if (isObject(part)) readPart(out, part, record);
}

/**
 * Reads a message of OpenAI chat, Cohere or Ollama: reasoning, content, citations, refusal, media and tool calls.
 *
 * @param text The content, when the body has it outside the message.
 */
export function readMessage(out: Output, message: Obj, text: unknown, record: ResponseFacts): void {
  let content = text;
  let plain = '';
  let details: unknown;
  let sources: unknown;
  let refusal: unknown;
  let audio: unknown;
  let images: unknown;
  let calls: unknown;
  let call: unknown;
  let executed: unknown;
  for (const name in message) {
    const value = message[name];
    if (value == null) continue;
    switch (name) {
      case 'content':
        content = value;
        break;
      case 'tool_calls':
      case 'toolCalls':
        calls = value;
        break;
      case 'refusal':
        refusal = value;
        break;
      case 'annotations':
      case 'citations':
        sources ??= value;
        break;
      case 'reasoning_content':
      case 'reasoning_text':
      case 'reasoning':
      case 'thinking':
      case 'tool_plan':
      case 'toolPlan':
        plain ||= str(value);
        break;
      case 'reasoning_details':
        details = value;
        break;
      case 'audio':
        audio = value;
        break;
      case 'images':
        images = value;
        break;
      case 'function_call':
        call = value;
        break;
      case 'executed_tools':
        executed = value;
    }
  }
  if (plain) addReasoning(out, plain).raw = details;
  else if (details) {
    for (const detail of objects(details)) {
      const thought = str(detail.text ?? detail.summary);
      if (thought) addReasoning(out, thought, detail.signature);
      else addRedacted(out, detail);
    }
  }
  readContent(out, content, record);
  if (sources) addCitations(out, sources, out.content.at(-1));
  if (refusal) addRefusal(out, str(refusal));
  if (audio) readPart(out, { audio }, record);
  if (images) readContent(out, images, record);
  if (calls) {
    for (const tool of objects(calls)) {
      const { id, custom } = tool;
      // Command R has the name and the arguments in the call itself.
      readCall(out, obj(custom ?? tool.function ?? tool), custom ? 'custom' : 'function', id);
    }
  }
  if (isObject(call)) readCall(out, call);
  // Groq's compound models list the tools that they ran on the server.
  if (executed) for (const tool of objects(executed)) readBuiltin(out, tool, '', tool.type, tool);
}
