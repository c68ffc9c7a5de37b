import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';

/** The four kinds of tool, small: enough for tests of the server, which know no demo. */
export function fourTools(log: string[] = []) {
  return {
    weather: defineTool({
      name: 'get_weather',
      description: 'Weather of a place',
      parameters: z.object({ location: z.string() }),
      execute: ({ location }) => {
        log.push(`weather ${location}`);
        return { location, temperature: 20 };
      },
    }),
    payment: defineTool({
      name: 'process_payment',
      description: 'Pays',
      parameters: z.object({ amount: z.number().positive(), recipient: z.string() }),
      needsApproval: true,
      execute: ({ amount, recipient }, context) => {
        log.push(`pay ${recipient} ${amount}`);
        const balance = Number(context.state.get('wallet', 1000)) - amount;
        context.state.set('wallet', balance);
        return { success: true, recipient, amount, wallet_balance: balance };
      },
    }),
    music: defineTool({
      name: 'change_bgm',
      description: 'Changes the music',
      parameters: z.object({ track: z.number() }),
      runsOn: 'client',
    }),
    optimisticMusic: defineTool({
      name: 'change_bgm',
      description: 'Changes the music',
      parameters: z.object({ track: z.number() }),
      runsOn: 'client',
      optimistic: ({ track }) => ({ success: true, track }),
    }),
    location: defineTool({
      name: 'get_location',
      description: 'Where the person is',
      runsOn: 'client',
      needsApproval: true,
    }),
  };
}
