import type { OpenCall, OpenCalls } from './open-calls.ts';

/** The calls that were made inside an agent that is used as a tool, have not started, and whose agent's own call has ended, as by an interruption. */
export function orphansIn(open: OpenCalls): OpenCall[] {
  return open.all.filter(
    ({ within, hasStarted, state }) =>
      within !== null && !open.get(within) && !hasStarted && state !== 'issuing',
  );
}

/** Makes the calls of agents that waited for calls inside them ready to run again, where all of these have ended. Returns them. */
export function resumeAgents({ all }: OpenCalls): OpenCall[] {
  const isWaiting = ({ record }: OpenCall) => all.some(({ within }) => within === record.id);
  return all.filter((call) => {
    if (!call.isPaused || isWaiting(call) || !call.apply('resume')) return false;
    // The approval of the agent's call was used when it started.
    call.setApprover(null);
    return true;
  });
}
