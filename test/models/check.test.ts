import { afterEach, describe, expect, it } from 'vitest';
import { checkModel, chooseModel, EmbeddedModel } from '../../src/models/index.ts';
import { DIALECTS, FakeProvider } from '../support/providers/fake-provider.ts';
import { hanging, ScriptedModel } from '../support/scripted-model.ts';

describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))(
  'the question at the start, to %s',
  (name, dialect) => {
    let fake: FakeProvider;
    afterEach(() => fake.stop());

    const check = async (environment: Record<string, string> = fake.environment) => {
      const { turn } = await chooseModel(environment);
      return checkModel(turn, { name: 'it' });
    };

    it('says nothing when the model answers', async () => {
      fake = await FakeProvider.start(dialect);
      expect(await check()).toBeNull();
      expect(fake.asked).toHaveLength(1);
      expect(fake.refused).toEqual([]);
    });

    it('tells a wrong key, and does not show it', async () => {
      fake = await FakeProvider.start(dialect);
      const key = 'Wrong-key-9876543210';
      const texts = await check(dialect.environment(fake.url, key));
      expect(texts).toContain(
        name === 'bedrock'
          ? 'The model it does not work: its provider does not let this key use it (403). The error: '
          : 'The model it does not work: its provider does not accept the key (401). The error: ',
      );
      expect(texts).not.toContain(key);
    });

    it.each([
      ['model', 'The model it does not work: its provider does not know it (404). The error: '],
      ['quota', 'The model it does not work: the quota at its provider is used up. The error: '],
    ] as const)('tells a wrong %s', async (fault, words) => {
      fake = await FakeProvider.start(dialect);
      fake.faults.push(fault);
      expect(await check()).toContain(words);
    });

    it.each(['reset', 'rate', 'overloaded', 'page', 'cut off'] as const)(
      'says nothing when it cannot be told: %s',
      async (fault) => {
        fake = await FakeProvider.start(dialect);
        fake.faults.push(fault);
        expect(await check()).toBeNull();
      },
    );
  },
);

it('the question at the start is not waited for long', async () => {
  const silent = hanging();
  expect(await checkModel(new ScriptedModel([silent.turn]), { timeoutMs: 1 })).toBeNull();
});

it('the embedded model needs no key', async () => {
  expect(await checkModel(new EmbeddedModel())).toBeNull();
});
