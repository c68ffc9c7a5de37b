import { createServer } from 'node:http';
import { AbstractAgent, type BaseEvent, type RunAgentInput } from '@ag-ui/client';
import { CopilotRuntime, InMemoryAgentRunner } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';
import { Observable } from 'rxjs';
import { listen, type Start } from '../servers/start.ts';
import type { Source } from '../source.ts';
import { talk } from './ag-ui-events.ts';

/** CopilotKit's runtime around an agent that only streams text; no ADK. */
export const start: Start = ({ source }) => {
  const runtime = new CopilotRuntime({
    agents: { default: new Speaker(source) as never },
    runner: new InMemoryAgentRunner(),
  });
  return listen(createServer(createCopilotNodeListener({ runtime, basePath: '/' }) as never));
};

class Speaker extends AbstractAgent {
  private readonly source: Source;

  constructor(source: Source) {
    super({ agentId: 'default' });
    this.source = source;
  }

  override clone(): Speaker {
    return new Speaker(this.source);
  }

  override run({ threadId, runId, messages }: RunAgentInput): Observable<BaseEvent> {
    const { content } = messages[0] ?? {};
    return new Observable((observer) => {
      talk(this.source, { threadId, runId, question: String(content) }, (event) => observer.next(event)).then(
        () => observer.complete(),
        (error: unknown) => observer.error(error),
      );
    });
  }
}
