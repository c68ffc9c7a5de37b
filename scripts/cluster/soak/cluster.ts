import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import { type NodeProcess, startNode } from '../../../test/cluster/support/nodes.ts';
import { type Balancer, startBalancer } from '../balancer.ts';
import { type PostgresServer, startPostgres } from '../postgres-server.ts';
import { type RedisServer, startRedis } from '../redis-server.ts';
import { openWire, type Wire } from '../wire.ts';

const SCHEMA = 'soak';
const SIZE = 3;

/** A node, with its own proxies to PostgreSQL and Redis. */
export interface SoakNode extends NodeProcess {
  toPostgres: Wire;
  toRedis: Wire;
}

/** Three nodes behind a balancer, on a temporary PostgreSQL and Redis. */
export class SoakCluster {
  readonly nodes: SoakNode[] = [];
  /** The call ids of all payments by nodes that have ended. */
  readonly paid: string[] = [];
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly leaseMs: number;
  #balancer: Balancer | null = null;
  /** Nodes that currently get no requests from the balancer. */
  readonly #hidden = new Set<SoakNode>();

  private constructor(postgres: PostgresServer, redis: RedisServer, leaseMs: number) {
    this.postgres = postgres;
    this.redis = redis;
    this.leaseMs = leaseMs;
  }

  static async open(leaseMs: number): Promise<SoakCluster> {
    const cluster = new SoakCluster(await startPostgres(), await startRedis(), leaseMs);
    await openPostgresStore({ url: cluster.postgres.url, schema: SCHEMA }).then((store) => store.close());
    await Promise.all(Array.from({ length: SIZE }, () => cluster.start()));
    cluster.#balancer = await startBalancer(() =>
      cluster.nodes.filter((node) => !cluster.#hidden.has(node)).map(({ port }) => port),
    );
    return cluster;
  }

  get url(): string {
    return this.#balancer?.url ?? '';
  }

  async start(): Promise<SoakNode> {
    const toPostgres = await openWire(Number(new URL(this.postgres.url).port));
    const toRedis = await openWire(Number(new URL(this.redis.url).port));
    const node = await startNode({
      database: this.postgres.url.replace(/:\d+\//, `:${toPostgres.port}/`),
      redis: `redis://127.0.0.1:${toRedis.port}`,
      schema: SCHEMA,
      leaseMs: this.leaseMs,
    });
    const whole = Object.assign(node, { toPostgres, toRedis });
    this.nodes.push(whole);
    return whole;
  }

  random(): SoakNode {
    const node = this.nodes[Math.floor(Math.random() * this.nodes.length)];
    if (!node) throw new Error('There is no node.');
    return node;
  }

  /** Which node owns a session: the one that answers without forwarding the request. */
  async ownerOf(id: string): Promise<SoakNode | null> {
    for (const node of this.nodes) {
      const answer = await fetch(`${node.url}/sessions/${id}`, {
        headers: { 'x-duologue-forwarded': '1', connection: 'close' },
      }).catch(() => null);
      if (answer?.status === 200) return node;
    }
    return null;
  }

  /** Ends a node, and starts another in its place. */
  async replace(node: SoakNode, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1);
    const ended = node.end(signal).then(async () => {
      this.paid.push(...node.paid);
      await node.toPostgres.close();
      await node.toRedis.close();
    });
    await Promise.all([ended, this.start()]);
  }

  hide(node: SoakNode, isHidden: boolean): void {
    if (isHidden) this.#hidden.add(node);
    else this.#hidden.delete(node);
  }

  /** All payments so far. */
  get payments(): string[] {
    return [...this.paid, ...this.nodes.flatMap(({ paid }) => paid)];
  }

  async close(): Promise<void> {
    await this.#balancer?.close();
    for (const node of this.nodes) {
      await node.end('SIGKILL');
      await node.toPostgres.close();
      await node.toRedis.close();
    }
    await this.postgres.close();
    await this.redis.close();
  }
}
