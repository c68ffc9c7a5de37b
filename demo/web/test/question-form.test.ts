import { describe, expect, test } from 'vitest';
import { choicesOf, firstValues, formFor, formOf, read, type Schema } from '../src/questions/form.ts';

const kindsOf = (schema: Schema | undefined) =>
  formOf(schema).fields.map(({ path, kind, isRequired }) => [path.join('.'), kind, isRequired]);

describe('the form of a question', () => {
  test('without a schema is one text, and the answer is that text', () => {
    const form = formOf(undefined);
    expect(kindsOf(undefined)).toEqual([['', 'text', true]]);
    expect(read(form, ['Ann'])).toEqual({ answer: 'Ann' });
    expect(read(form, [' '])).toEqual({ problems: ['required'] });
  });

  test.each<[string, Schema, string, unknown]>([
    ['a string', { type: 'string' }, 'Ann', 'Ann'],
    ['a number', { type: 'number' }, '1.5', 1.5],
    ['a whole number', { type: 'integer' }, '2', 2],
    ['yes or no', { type: 'boolean' }, 'false', false],
    ['a choice', { enum: ['S', 'M', 3] }, '2', 3],
    ['a string that may be null', { type: ['string', 'null'] }, 'x', 'x'],
    ['one of two constants', { oneOf: [{ const: 1, title: 'one' }, { const: 2 }] }, '1', 2],
    ['a list, as JSON', { type: 'array', items: { type: 'string' } }, '["a"]', ['a']],
    ['anything, as JSON', {}, '{"a":1}', { a: 1 }],
  ])('reads %s', (_, schema, typed, answer) => {
    expect(read(formOf(schema), [typed])).toEqual({ answer });
  });

  test('says what is wrong with a field, and leaves out what is optional and empty', () => {
    const form = formOf({
      type: 'object',
      properties: {
        name: { type: 'string' },
        age: { type: 'integer' },
        weight: { type: 'number' },
        more: { type: 'array' },
        note: { type: 'string' },
      },
      required: ['name', 'age'],
    });
    expect(read(form, ['', '1.5', 'x', '[', ''])).toEqual({
      problems: ['required', 'integer', 'number', 'json', null],
    });
    expect(read(form, ['Ann', '3', '', '', ''])).toEqual({ answer: { name: 'Ann', age: 3 } });
  });

  test('has the fields of small objects, nested ones too', () => {
    const schema = {
      type: 'object',
      properties: {
        size: { enum: ['S', 'M'], default: 'M' },
        to: {
          type: 'object',
          properties: { city: { type: 'string', title: 'Town' } },
          required: ['city'],
        },
      },
      required: ['to'],
    };
    expect(kindsOf(schema)).toEqual([
      ['size', 'choice', false],
      ['to.city', 'text', true],
    ]);
    const form = formOf(schema);
    expect(form.fields.map(({ title }) => title)).toEqual(['size', 'Town']);
    expect(firstValues(form)).toEqual(['1', '']);
    expect(read(form, ['1', 'Kyoto'])).toEqual({ answer: { size: 'M', to: { city: 'Kyoto' } } });
  });

  test.each<[string, Schema]>([
    ['has more than 12 fields', { type: 'object', properties: many(13) }],
    ['is nested too deep', nested(4)],
    ['has variants', { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'array' }] }],
    ['has no type', { description: 'anything' }],
  ])('is a field for JSON where the schema %s', (_, schema) => {
    expect(kindsOf(schema)).toEqual([['', 'json', true]]);
  });

  test('keeps a field with the name of a property that every object has', () => {
    const form = formOf({
      type: 'object',
      properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}'),
    });
    const found = read(form, ['a', 'b']);
    expect(JSON.stringify(found)).toBe('{"answer":{"__proto__":"a","constructor":"b"}}');
    expect(Object.hasOwn('answer' in found ? (found.answer as object) : {}, '__proto__')).toBe(true);
  });

  test('offers buttons for what one press answers', () => {
    expect(choicesOf(formOf({ enum: ['a', 'b'] }), 'Yes', 'No')).toEqual([
      { value: 'a', words: 'a' },
      { value: 'b', words: 'b' },
    ]);
    expect(choicesOf(formOf({ type: 'boolean' }), 'Yes', 'No')?.map(({ words }) => words)).toEqual([
      'Yes',
      'No',
    ]);
    for (const schema of [
      undefined,
      { type: 'string' },
      { type: 'object', properties: { a: { enum: [1] } } },
    ])
      expect(choicesOf(formOf(schema), 'Yes', 'No')).toBeNull();
  });
});

describe('the form of a value that the person may change', () => {
  test.each([
    [{ seats: 1, name: 'Ann', isWindow: true, stops: ['a'] }],
    ['text'],
    [5],
    [['a', 1]],
    [{ deep: { value: 1.5 } }],
  ])('gives %j back as it is, unless it was changed', (value) => {
    const form = formFor(value);
    expect(read(form, firstValues(form))).toEqual({ answer: value });
  });

  test('keeps the type of a value that was changed', () => {
    const form = formFor({ seats: 1, name: '' });
    expect(read(form, ['3', ''])).toEqual({ answer: { seats: 3 } });
    expect(read(form, ['many', ''])).toEqual({ problems: ['number', null] });
  });
});

function many(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, { type: 'string' }]));
}

function nested(depth: number): Schema {
  return depth === 0
    ? { type: 'string' }
    : { type: 'object', properties: { in: nested(depth - 1) }, required: ['in'] };
}
