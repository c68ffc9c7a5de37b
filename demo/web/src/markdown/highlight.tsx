import { common, createLowlight } from 'lowlight';
import { createElement, type ReactNode } from 'react';

const lowlight = createLowlight(common);

const COLOURS: Readonly<Record<string, string>> = {
  keyword: 'var(--code-keyword)',
  'selector-tag': 'var(--code-keyword)',
  tag: 'var(--code-keyword)',
  string: 'var(--code-string)',
  regexp: 'var(--code-string)',
  addition: 'var(--code-string)',
  number: 'var(--code-number)',
  literal: 'var(--code-number)',
  built_in: 'var(--code-number)',
  deletion: 'var(--bad)',
  title: 'var(--code-title)',
  function_: 'var(--code-title)',
  attr: 'var(--code-title)',
  attribute: 'var(--code-title)',
  name: 'var(--code-title)',
  type: 'var(--code-title)',
  comment: 'var(--code-comment)',
  meta: 'var(--code-comment)',
};

interface Node {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: readonly Node[];
}

/** Colours code; null when the language is unknown. */
export function highlight(code: string, language: string): ReactNode {
  if (!lowlight.registered(language.toLowerCase())) return null;
  const tree = lowlight.highlight(language.toLowerCase(), code) as Node;
  return tree.children?.map(render);
}

function render(node: Node, key: number): ReactNode {
  if (node.type === 'text') return node.value;
  const names = Array.isArray(node.properties?.className) ? node.properties.className : [];
  const color = names.map((name) => COLOURS[String(name).replace(/^hljs-/, '')]).find(Boolean);
  return createElement('span', { key, ...(color ? { style: { color } } : {}) }, node.children?.map(render));
}
