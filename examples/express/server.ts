import { createAgent } from './agent.ts';
import { createApp } from './app.ts';

const { app, close } = createApp(createAgent(process.env.MODEL ?? 'gemini-flash-latest'));
const server = app.listen(Number(process.env.PORT ?? 3000), 'localhost', () => {
  console.log('The bookshop listens on', server.address());
});

process.once('SIGINT', () => {
  server.close();
  void close();
});
