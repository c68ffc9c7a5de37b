import { fieldsIn, fieldsOf } from './fields.ts';
import type { Row } from './rows.ts';

/** Which node serves the connection and which has the conversation, as was told last; null where there is one alone. */
export function nodesIn(rows: readonly Row[]): { serves: string; owns: string } | null {
  const reported = rows.findLast(({ type }) => type === 'data-session');
  const { serves, owns } = fieldsIn(fieldsIn(reported && fieldsOf(reported.body).data).nodes);
  return typeof serves === 'string' && typeof owns === 'string'
    ? { serves: shortened(serves), owns: shortened(owns) }
    : null;
}

/** The address without its scheme. */
function shortened(address: string): string {
  return address.replace(/^https?:\/\//, '');
}
