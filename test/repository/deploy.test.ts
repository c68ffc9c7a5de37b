import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readSettings } from '../../demo/server/settings.ts';
import { read } from './support/repository.ts';

interface Service {
  image: string;
  environment: Record<string, string>;
  command?: string[];
  depends_on: unknown;
}

const { services } = parse(read('deploy/compose.yaml'), { merge: true }) as {
  services: Record<string, Service>;
};
const nodes = Object.keys(services).filter((name) => name.startsWith('node'));

/** What compose makes of `${NAME}`, `${NAME:-default}` and `${NAME:?complaint}`. */
function filledIn(text: string, values: Record<string, string>): string {
  return text.replace(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g, (_, name: string, fallback = '') => {
    return values[name] ?? fallback;
  });
}

/** The settings that nginx uses for a path: those of the server, and of the location that the path belongs to. */
function settingsAt(path: string): Record<string, string> {
  const [, server = ''] = /^ {2}server \{\n(.*?)^ {2}\}$/ms.exec(read('deploy/nginx.conf')) ?? [];
  const locations = [...server.matchAll(/^ {4}location (~ )?(\S+) \{\n(.*?)^ {4}\}$/gms)];
  // nginx takes the first expression that matches, otherwise the longest prefix.
  const [, , , own = ''] =
    locations.find(([, isExpression, of = '']) => isExpression && new RegExp(of).test(path)) ??
    locations
      .filter(([, isExpression, of = '']) => !isExpression && path.startsWith(of))
      .sort(([, , a = ''], [, , b = '']) => b.length - a.length)[0] ??
    [];
  const inherited = settingsIn(/^.*?(?=^ {4}location)/ms.exec(server)?.[0] ?? '');
  // A location that sets one header inherits none.
  const kept = /proxy_set_header/.test(own)
    ? inherited.filter(([name]) => !name.startsWith('proxy_set_header'))
    : inherited;
  return Object.fromEntries([...kept, ...settingsIn(own)]);
}

const settingsIn = (block: string): [name: string, value: string][] =>
  [...block.matchAll(/^ +(proxy_set_header \S+|\w+) (.+);$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);

describe('the files of deploy/', () => {
  test('compose starts three nodes that can begin with what it sets, and know both engines by their names', () => {
    expect(nodes).toEqual(['node1', 'node2', 'node3']);
    for (const name of nodes) {
      const env = Object.fromEntries(
        Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
          key,
          filledIn(value, { POSTGRES_PASSWORD: 'secret', DUOLOGUE_API_KEY: 'key' }),
        ]),
      );
      const settings = readSettings(env);
      expect(settings).toMatchObject({
        host: '0.0.0.0',
        port: 3000,
        apiKey: 'key',
        origins: [],
        // The balancer.
        trustedProxies: 1,
      });
      expect(settings.shared).toMatchObject({
        database: 'postgres://duologue:secret@postgres:5432/duologue',
        redis: 'redis://redis:6379',
      });
      expect(settings.shared?.address).toMatch(/^http:\/\/[\d.]+:3000$/);
    }
    expect(Object.keys(services)).toEqual([...nodes, 'balancer', 'postgres', 'redis']);
    expect(services.postgres?.environment.POSTGRES_DB).toBe('duologue');
    expect(services.redis?.command?.join(' ')).toMatch(/--maxmemory-policy noeviction$/);
  });

  test('nginx sends to all of them, and to none twice in a row', () => {
    const nginx = read('deploy/nginx.conf');
    const upstream = [...nginx.matchAll(/^ +server (\S+):3000 /gm)].map(([, name]) => name);
    expect(upstream).toEqual(nodes);
    expect(nginx).not.toMatch(/^ *(ip_hash|sticky|hash)\b/m);
    expect(nginx).toMatch(/proxy_buffering off;/);
  });

  test.each([['/live'], ['/ws']])(
    'nginx passes on the upgrade of %s, and keeps the socket for an hour',
    (path) => {
      expect(settingsAt(path)).toMatchObject({
        'proxy_set_header Upgrade': '$http_upgrade',
        'proxy_set_header Connection': '$connection_upgrade',
        proxy_read_timeout: '1h',
        proxy_pass: 'http://nodes',
      });
    },
  );

  test.each([['/stream'], ['/sessions/a/stream'], ['/login'], ['/live'], ['/ws']])(
    'nginx passes on the host of %s, and says which client asks',
    (path) => {
      expect(settingsAt(path)).toMatchObject({
        'proxy_set_header Host': '$http_host',
        'proxy_set_header X-Forwarded-Proto': '$scheme',
        'proxy_set_header X-Forwarded-For': '$proxy_add_x_forwarded_for',
        'proxy_set_header X-Request-Id': '$request_id',
      });
    },
  );

  test('the deployment for Kubernetes can be read, and every pod tells the others its own address', () => {
    const documents = parseAllDocuments(read('deploy/kubernetes.yaml'));
    for (const document of documents) {
      if ('errors' in document) expect(document.errors).toEqual([]);
    }
    const [deployment] = [...documents].map((document) => document.toJS()) as [
      {
        kind: string;
        spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
      },
    ];
    expect([...documents].map((document) => (document.toJS() as { kind: string }).kind)).toEqual([
      'Deployment',
      'Service',
      'PodDisruptionBudget',
      'NetworkPolicy',
    ]);
    const env = deployment.spec.template.spec.containers[0]?.env ?? [];
    const address = env.find(({ name }) => name === 'DUOLOGUE_NODE_URL')?.value;
    const { shared, trustedProxies } = readSettings({
      DATABASE_URL: 'postgres://db/chats',
      DUOLOGUE_NODE_URL: address?.replace('$(POD_IP)', '10.0.0.7'),
      DUOLOGUE_TRUSTED_PROXIES: env.find(({ name }) => name === 'DUOLOGUE_TRUSTED_PROXIES')?.value,
    });
    expect(shared?.address).toBe('http://10.0.0.7:3000');
    // The ingress.
    expect(trustedProxies).toBe(1);
  });
});
