import type { DemoTool } from '../tool.ts';
import { balance } from './balance.ts';
import { paymentTool } from './definition.ts';
import { pastPayments } from './past.ts';
import { payment } from './rule.ts';

/** Payments from a wallet: a tool that runs on the server after the user's approval. */
const tool: DemoTool = {
  instruction:
    'process_payment: sends money. The user is asked to approve each payment by the system, so do not ask yourself. Several payments in one request: call the tool once for each, together.',
  define: () => paymentTool(),
  rules: [pastPayments, payment, balance],
  words: 'send pay transfer money dollar dollars balance wallet alice bob carol'.split(' '),
};

export default tool;
