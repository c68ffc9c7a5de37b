import { useRef } from 'react';
import { Blocks } from './block.tsx';
import { GrowingBlocks } from './blocks.ts';

/** Shows Markdown that may still be growing. */
export default function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const growing = useRef<GrowingBlocks | null>(null);
  growing.current ??= new GrowingBlocks();
  return <Blocks tokens={growing.current.push(text)} isGrowing={isGrowing} />;
}
