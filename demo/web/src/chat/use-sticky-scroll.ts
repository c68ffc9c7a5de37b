import { type RefCallback, useCallback, useRef, useState } from 'react';

const NEAR_PX = 64;

/** Keeps a list at its end while it grows, unless the person scrolls up. */
export function useStickyScroll(): {
  box: RefCallback<HTMLElement>;
  content: RefCallback<HTMLElement>;
  isAtEnd: boolean;
  toEnd: () => void;
} {
  const element = useRef<HTMLElement | null>(null);
  const sticks = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);

  const toEnd = useCallback(() => {
    sticks.current = true;
    setAtEnd(true);
    const box = element.current;
    if (box) box.scrollTop = box.scrollHeight;
  }, []);

  const box = useCallback((node: HTMLElement | null) => {
    element.current = node;
    if (!node) return;
    let last = node.scrollTop;
    let height = node.scrollHeight;
    const onScroll = () => {
      const isNear = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR_PX;
      // Only the person scrolls up: growth moves the end away, and what becomes shorter moves by itself.
      const isShorter = node.scrollHeight < height;
      if (isNear) sticks.current = true;
      else if (node.scrollTop < last && !isShorter) sticks.current = false;
      last = node.scrollTop;
      height = node.scrollHeight;
      setAtEnd(isNear || sticks.current);
    };
    node.addEventListener('scroll', onScroll, { passive: true });
    const observer = new ResizeObserver(() => {
      if (sticks.current) node.scrollTop = node.scrollHeight;
    });
    observer.observe(node);
    return () => {
      node.removeEventListener('scroll', onScroll);
      observer.disconnect();
    };
  }, []);

  const content = useCallback((node: HTMLElement | null) => {
    if (!node) return;
    const observer = new ResizeObserver(() => {
      const box = element.current;
      if (box && sticks.current) box.scrollTop = box.scrollHeight;
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  return { box, content, isAtEnd, toEnd };
}
