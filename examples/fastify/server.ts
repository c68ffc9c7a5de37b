import { createAgent } from './agent.ts';
import { createApp } from './app.ts';
import { chooseModel } from './model.ts';

const app = createApp(createAgent(chooseModel(process.env)), process.argv[2] ?? 'page');
const url = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
console.log(`The florist listens on ${url}`);

process.once('SIGINT', () => void app.close());
