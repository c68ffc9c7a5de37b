import type { Row } from '../matrix.ts';
import { AGENT_TOOLS } from './agent-tools.ts';
import { CALL_IDS } from './call-ids.ts';
import { CALLBACKS } from './callbacks.ts';
import { CONFIRMATIONS } from './confirmations.ts';
import { CREDENTIALS } from './credentials.ts';
import { GRAPHS } from './graphs.ts';
import { KILLS } from './kills.ts';
import { LONG_RUNNING } from './long-running.ts';
import { NODE_CALLS } from './node-calls.ts';
import { NODE_TOOLS } from './node-tools.ts';
import { PARALLEL } from './parallel.ts';
import { QUESTIONS } from './questions.ts';
import { REFUSALS } from './refusals.ts';
import { REQUEST_TOOLS } from './request-tools.ts';
import { ROOTS } from './roots.ts';
import { SERVICES } from './services.ts';
import { WORKFLOWS } from './workflows.ts';

/** The features of ADK in the order of the table in docs/adk.md. */
export const ROWS: readonly Row[] = [
  ...ROOTS,
  ...WORKFLOWS,
  ...GRAPHS,
  ...KILLS,
  ...PARALLEL,
  ...QUESTIONS,
  ...LONG_RUNNING,
  ...AGENT_TOOLS,
  ...NODE_TOOLS,
  ...CALL_IDS,
  ...CONFIRMATIONS,
  ...CREDENTIALS,
  ...NODE_CALLS,
  ...REFUSALS,
  ...CALLBACKS,
  ...SERVICES,
  ...REQUEST_TOOLS,
];
