import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../demo/server/settings.ts';

const usual = {
  host: 'localhost',
  port: 3000,
  origins: [],
  trustedProxies: 0,
  dataDir: resolve('.data'),
  shared: null,
  apiKey: undefined,
  confirmations: 'approval',
  approvals: 'sequential',
  approvalTimeoutMs: undefined,
  inspect: true,
};

describe('the settings of the demo', () => {
  it.each([
    ['nothing', {}, {}],
    ['empty values', { HOST: '', PORT: '', DUOLOGUE_API_KEY: '', DUOLOGUE_CONFIRMATIONS: '' }, {}],
    ['an address', { HOST: '127.0.0.1', PORT: '8080' }, { host: '127.0.0.1', port: 8080 }],
    [
      'a public address',
      { HOST: '0.0.0.0', DUOLOGUE_API_KEY: 'k' },
      { host: '0.0.0.0', apiKey: 'k', inspect: false },
    ],
    [
      'an inspector anywhere',
      { HOST: '0.0.0.0', DUOLOGUE_API_KEY: 'k', DUOLOGUE_INSPECT: '1' },
      { host: '0.0.0.0', apiKey: 'k', inspect: true },
    ],
    ['no inspector', { DUOLOGUE_INSPECT: '0' }, { inspect: false }],
    ['any free port', { PORT: '0' }, { port: 0 }],
    ['a folder', { DUOLOGUE_DATA: '/var/lib/duologue' }, { dataDir: resolve('/var/lib/duologue') }],
    [
      'a database that nodes share',
      { DATABASE_URL: 'postgres://db/chats', PORT: '3001' },
      {
        port: 3001,
        shared: { database: 'postgres://db/chats', redis: null, address: 'http://localhost:3001' },
      },
    ],
    [
      'both engines, and an address for other nodes',
      {
        DATABASE_URL: 'postgres://db/chats',
        REDIS_URL: 'redis://cache:6379',
        DUOLOGUE_NODE_URL: 'http://10.0.0.7:3000/',
      },
      {
        shared: {
          database: 'postgres://db/chats',
          redis: 'redis://cache:6379',
          address: 'http://10.0.0.7:3000',
        },
      },
    ],
    ['a key', { DUOLOGUE_API_KEY: 'k' }, { apiKey: 'k' }],
    [
      'origins',
      { DUOLOGUE_ORIGINS: 'https://a.example, http://b.example:8080/page,' },
      { origins: ['https://a.example', 'http://b.example:8080'] },
    ],
    ['a proxy in front', { DUOLOGUE_TRUSTED_PROXIES: '1' }, { trustedProxies: 1 }],
    [
      'proxies by their addresses',
      { DUOLOGUE_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,2001:db8::/32,' },
      { trustedProxies: ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'] },
    ],
    ['the dialect', { DUOLOGUE_CONFIRMATIONS: 'tool' }, { confirmations: 'tool' }],
    ['cards together', { DUOLOGUE_APPROVALS: 'parallel' }, { approvals: 'parallel' }],
    ['a timeout', { DUOLOGUE_APPROVAL_TIMEOUT_MS: '500' }, { approvalTimeoutMs: 500 }],
    ['no timeout', { DUOLOGUE_APPROVAL_TIMEOUT_MS: 'none' }, { approvalTimeoutMs: null }],
  ])('come from the environment: %s', (_, env, settings) => {
    expect(readSettings(env)).toEqual({ ...usual, ...settings });
  });

  it.each([
    [{ PORT: 'http' }, 'PORT must be a whole number from 0 to 65535, not "http".'],
    [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535, not "65536".'],
    [{ PORT: '80.5' }, 'PORT must be a whole number from 0 to 65535, not "80.5".'],
    [
      { DUOLOGUE_CONFIRMATIONS: 'maybe' },
      'DUOLOGUE_CONFIRMATIONS must be one of approval, tool, not "maybe".',
    ],
    [
      { HOST: '0.0.0.0' },
      'HOST is "0.0.0.0", which others can reach. Set DUOLOGUE_API_KEY to a key that they must show, or leave HOST out to listen on this machine alone.',
    ],
    [{ DUOLOGUE_INSPECT: 'yes' }, 'DUOLOGUE_INSPECT must be one of 0, 1, not "yes".'],
    [{ DUOLOGUE_APPROVALS: 'all' }, 'DUOLOGUE_APPROVALS must be one of sequential, parallel, not "all".'],
    [
      { DUOLOGUE_APPROVAL_TIMEOUT_MS: '0' },
      'DUOLOGUE_APPROVAL_TIMEOUT_MS must be a whole number from 1 to 2147483647, not "0".',
    ],
    [
      { DUOLOGUE_ORIGINS: 'example.com' },
      'DUOLOGUE_ORIGINS: "example.com" is not an origin such as https://chat.example.com.',
    ],
    [
      { DUOLOGUE_TRUSTED_PROXIES: '-1' },
      'DUOLOGUE_TRUSTED_PROXIES: "-1" is neither a number of proxies nor an address or network such as 10.0.0.0/8.',
    ],
    [
      { DUOLOGUE_TRUSTED_PROXIES: '10.0.0.0/33' },
      'DUOLOGUE_TRUSTED_PROXIES: "10.0.0.0/33" is neither a number of proxies nor an address or network such as 10.0.0.0/8.',
    ],
    [
      { DUOLOGUE_TRUSTED_PROXIES: '10.0.0.0/' },
      'DUOLOGUE_TRUSTED_PROXIES: "10.0.0.0/" is neither a number of proxies nor an address or network such as 10.0.0.0/8.',
    ],
    [
      { DATABASE_URL: 'ann:secret at home' },
      'DATABASE_URL is not an address such as postgres://user:password@host/database.',
    ],
    [
      { DATABASE_URL: 'postgres://db/chats', REDIS_URL: 'cache:6379' },
      'REDIS_URL is not an address such as redis://host:6379.',
    ],
    [
      { REDIS_URL: 'redis://cache:6379' },
      'REDIS_URL is for several nodes, which share a PostgreSQL too: set DATABASE_URL as well, or leave REDIS_URL out.',
    ],
  ])('that cannot work are refused in plain words: %j', (env, message) => {
    expect(() => readSettings(env)).toThrow(message);
  });
});
