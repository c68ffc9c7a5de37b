import { createAgent } from './agent.ts';
import { createApp } from './app.ts';

const { app, close } = createApp(createAgent(process.env.MODEL ?? 'gemini-3.8-flash'));
const server = app.listen(Number(process.env.PORT ?? 3000), 'localhost', () => {
  console.log('The bookshop listens on', server.address());
});

process.once('SIGINT', () => {
  server.close();
  void close();
});
