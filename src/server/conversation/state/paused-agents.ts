import type { OpenCall, OpenCalls } from './open-calls.ts';

/**
 * Returns the calls that can no longer be answered: an agent that is used as a tool made them, the call of that agent has ended, for instance by an
 * interruption, and their own tools have not started.
 */
export function orphansIn(open: OpenCalls): OpenCall[] {
  return open.all.filter(
    ({ within, hasStarted, state }) =>
      within !== null && !open.get(within) && !hasStarted && state !== 'issuing',
  );
}

/**
 * An agent that is used as a tool is parked while it waits for calls that it made. Makes the calls of such agents ready to run again when all calls
 * inside them have ended. Returns the calls of these agents.
 */
export function resumeAgents({ all }: OpenCalls): OpenCall[] {
  const isWaiting = ({ record }: OpenCall) => all.some(({ within }) => within === record.id);
  return all.filter((call) => {
    if (!call.isPaused || isWaiting(call) || !call.apply('resume')) return false;
    // The approval was used at the first start of the agent. Without an approver, this start checks no sign-in.
    call.setApprover(null);
    return true;
  });
}
