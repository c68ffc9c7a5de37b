import { fieldsIn, fieldsOf } from './fields.ts';
import type { Row } from './rows.ts';

/**
 * The node of the connection and the node that owns the session, as the server reported them last; null without
 * several nodes.
 */
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
