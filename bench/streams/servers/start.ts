import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Adk } from '../agent.ts';
import type { Source } from '../source.ts';

/** The inputs of a server. */
export interface Parts {
  source: Source;
  /** The ADK that our own code runs on. */
  adk: Adk;
  /** The folder of our compiled server. */
  build: string;
}

/** A listening server. */
export interface Started {
  port: number;
}

/** Starts the server of one variant. */
export type Start = (parts: Parts) => Promise<Started>;

/** Listens on a free port. */
export async function listen(server: Server): Promise<Started> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port };
}

/** The part of a browser's request body that the plain servers read. */
export interface Posted {
  id: string;
  question: string;
}

export async function readPost(request: IncomingMessage): Promise<Posted> {
  let body = '';
  for await (const piece of request) body += String(piece);
  const { id, messages } = JSON.parse(body);
  return { id, question: messages[0].parts[0].text };
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
}
