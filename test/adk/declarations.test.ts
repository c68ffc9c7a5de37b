import { FunctionTool } from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { rememberDeclaration } from '../../src/adk/tools.ts';

const parameters = z.object({
  city: z.string().describe('Where').min(1),
  days: z.number().int().min(1).max(7).optional(),
  unit: z.enum(['celsius', 'fahrenheit']).default('celsius'),
  tags: z.array(z.object({ name: z.string(), weight: z.number().nullable() })),
});

const stock = () =>
  new FunctionTool({ name: 'forecast', description: 'Weather', parameters, execute: () => ({}) });

describe('a declaration that is remembered', () => {
  test.each([
    ['of ADK', stock],
    [
      'of ours',
      () => defineTool({ name: 'forecast', description: 'Weather', parameters, execute: () => ({}) }),
    ],
  ])('is the one the tool makes: %s', (_whose, make) => {
    const tool = make();
    const made = tool._getDeclaration();
    rememberDeclaration(tool);
    expect(tool._getDeclaration()).toEqual(made);
    expect(tool._getDeclaration()).toEqual(made);
  });

  test('is fresh for every request: what a callback changes in one stays there', () => {
    const tool = stock();
    rememberDeclaration(tool);
    const first = tool._getDeclaration();
    const before = structuredClone(first);
    Object.assign(first?.parameters ?? {}, { properties: {} });
    expect(tool._getDeclaration()).toEqual(before);
  });

  test('is not kept for a tool that makes its own', () => {
    class Counting extends FunctionTool {
      asked = 0;
      override _getDeclaration() {
        return { name: this.name, description: `asked ${++this.asked} times` };
      }
    }
    const tool = new Counting({ name: 'own', description: 'd', execute: () => ({}) });
    rememberDeclaration(tool);
    tool._getDeclaration();
    expect(tool._getDeclaration().description).toBe('asked 2 times');
  });
});
