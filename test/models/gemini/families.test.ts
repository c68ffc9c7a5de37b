import type { BaseTool, LlmRequest } from '@google/adk';
import { Modality, ThinkingLevel, type Tool } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { type LiveFamily, liveFamilyOf, onVertex } from '../../../src/models/gemini/families.ts';
import { liveConfigOf, nonBlockingNames } from '../../../src/models/gemini/setup.ts';

test.each([
  ['gemini-3.8-live', '3.8'],
  ['models/gemini-3.8-live', '3.8'],
  ['gemini-3.8-live-extended-thinking', '3.8 extended thinking'],
  ['gemini-3.1-flash-live-preview', '3.1'],
  ['gemini-2.5-flash-native-audio-latest', '2.5'],
  ['gemini-2.5-flash-native-audio-preview-12-2025', '2.5'],
  ['gemini-live-2.5-flash-native-audio', '2.5'],
  ['gemini-4-argon-live', '3.8'],
  ['gemini-5-live-thinking', '3.8 extended thinking'],
])('%s is of the family %s', (model, name) => {
  expect(liveFamilyOf(model).name).toBe(name);
});

test.each([
  ['gemini-3.5-live-translate-preview', 'it only translates speech'],
  ['gemini-3.5-transcribe-live', 'it only writes down speech'],
])('%s is refused in words', (model, why) => {
  expect(() => liveFamilyOf(model)).toThrow(`The model ${model} cannot hold a conversation: ${why}.`);
});

const tool = (facts: object) => facts as unknown as BaseTool;

/** All that an agent and ADK can put into a request. */
const REQUEST: LlmRequest = {
  contents: [],
  toolsDict: {
    pay: tool({ nonBlocking: true }),
    look: tool({ changesNothing: true }),
    write: tool({}),
  },
  config: {
    temperature: 0.3,
    thinkingConfig: { thinkingBudget: 0, thinkingLevel: ThinkingLevel.HIGH, includeThoughts: true },
    stopSequences: ['not for live'],
    tools: [{ functionDeclarations: [{ name: 'pay' }, { name: 'look' }, { name: 'write' }] }],
  },
  liveConnectConfig: {
    responseModalities: [Modality.AUDIO],
    proactivity: { proactiveAudio: true },
    enableAffectiveDialog: false,
    inputAudioTranscription: {},
    sessionResumption: { handle: 'H', transparent: true },
  },
};

describe('the setup has only what the family takes', () => {
  const COMMON = {
    temperature: 0.3,
    responseModalities: ['AUDIO'],
    inputAudioTranscription: {},
    contextWindowCompression: { triggerTokens: '25000', slidingWindow: { targetTokens: '8000' } },
    sessionResumption: { handle: 'H' },
  };
  const declared = (pay?: string, look?: string, write?: string) => [
    {
      functionDeclarations: Object.entries({ pay, look, write }).map(([name, behavior]) => ({
        name,
        ...(behavior ? { behavior } : {}),
      })),
    },
  ];

  test.each([
    [
      'gemini-2.5-flash-native-audio-latest',
      {
        proactivity: { proactiveAudio: true },
        thinkingConfig: { includeThoughts: true, thinkingBudget: 0 },
        tools: declared('NON_BLOCKING'),
      },
    ],
    [
      'gemini-3.1-flash-live-preview',
      { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' }, tools: declared() },
    ],
    ['gemini-3.8-live', { tools: declared('NON_BLOCKING', 'BLOCKING', 'NON_BLOCKING') }],
    [
      'gemini-3.8-live-extended-thinking',
      {
        thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' },
        tools: declared('NON_BLOCKING', 'NON_BLOCKING', 'NON_BLOCKING'),
      },
    ],
  ])('%s', (model, own) => {
    const family = liveFamilyOf(model);
    const nonBlocking = nonBlockingNames(REQUEST, family);
    expect(liveConfigOf(REQUEST, { model, family, nonBlocking, handle: 'H' })).toEqual({ ...COMMON, ...own });
  });

  test('a family that must be told how hard to think is always told', () => {
    const family = liveFamilyOf('gemini-3.8-live-extended-thinking');
    const setup = { model: family.name, family, nonBlocking: new Set<string>() };
    const { thinkingConfig } = liveConfigOf({ ...REQUEST, config: {} }, setup);
    expect(thinkingConfig).toEqual({ thinkingLevel: 'LOW' });
  });

  test('compression can be set, and switched off', () => {
    const family = liveFamilyOf('gemini-3.8-live');
    const setup = (compression: { triggerTokens: string } | null) =>
      liveConfigOf(REQUEST, { model: family.name, family, nonBlocking: new Set(), compression })
        .contextWindowCompression;
    expect([setup({ triggerTokens: '9' }), setup(null)]).toEqual([{ triggerTokens: '9' }, undefined]);
  });

  test('on Vertex 2.5 waits for every call', () => {
    const family = onVertex(liveFamilyOf('gemini-live-2.5-flash-native-audio'));
    const nonBlocking = nonBlockingNames(REQUEST, family);
    expect(liveConfigOf(REQUEST, { model: family.name, family, nonBlocking }).tools).toEqual(declared());
  });
});

describe('tools that the service itself runs', () => {
  const BUILT_IN: [name: string, tool: Tool][] = [
    ['googleSearch', { googleSearch: {} }],
    ['codeExecution', { codeExecution: {} }],
    ['urlContext', { urlContext: {} }],
    ['googleMaps', { googleMaps: {} }],
    ['enterpriseWebSearch', { enterpriseWebSearch: {} }],
    ['retrieval', { retrieval: {} }],
    ['fileSearch', { fileSearch: {} }],
  ];
  const setUp = (model: string, family: LiveFamily, tool: Tool) =>
    liveConfigOf({ ...REQUEST, config: { tools: [tool] } }, { model, family, nonBlocking: new Set() });

  test.each([
    ['gemini-2.5-flash-native-audio-latest', false, ['googleSearch']],
    ['gemini-3.1-flash-live-preview', false, ['googleSearch']],
    ['gemini-3.8-live', false, ['googleSearch']],
    ['gemini-3.8-live-extended-thinking', false, ['googleSearch']],
    ['gemini-live-2.5-flash-native-audio', true, ['googleSearch', 'codeExecution', 'retrieval']],
    ['gemini-3.8-live', true, ['googleSearch', 'retrieval']],
  ])('%s, on Vertex: %s, has %j, and others are refused in words', (model, isVertex, has) => {
    const family = isVertex ? onVertex(liveFamilyOf(model)) : liveFamilyOf(model);
    for (const [name, tool] of BUILT_IN) {
      if (has.includes(name)) expect(setUp(model, family, tool).tools).toEqual([tool]);
      else expect(() => setUp(model, family, tool)).toThrow(`${model} does not have the tool ${name}.`);
    }
  });
});
