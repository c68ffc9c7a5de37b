import { type RefCallback, useCallback, useRef, useState } from 'react';

const NEAR_PX = 64;

/**
 * Keeps a growing list scrolled to its end, until the user scrolls up, and again once the user has scrolled back to
 * the end. While `follows` is false the list keeps its position.
 */
export function useStickyScroll(follows: boolean): {
  box: RefCallback<HTMLElement>;
  content: RefCallback<HTMLElement>;
  isAtEnd: boolean;
  toEnd: () => void;
  /** Call it before the browser paints items that were added at the top. It keeps the visible items in their place. */
  keepPlace: () => void;
} {
  const element = useRef<HTMLElement | null>(null);
  const sticks = useRef(true);
  /** The scroll position at the last check. If it is smaller at the next check, the user scrolled up. */
  const seen = useRef({ top: 0, height: 0, box: 0 });
  const [isAtEnd, setAtEnd] = useState(true);

  const follow = useCallback(() => {
    const node = element.current;
    if (!node) return;
    if (follows && sticks.current) node.scrollTop = node.scrollHeight;
    seen.current = placeOf(node);
    setAtEnd(!follows || sticks.current || isNear(node));
  }, [follows]);

  const toEnd = useCallback(() => {
    sticks.current = true;
    follow();
  }, [follow]);

  const keepPlace = useCallback(() => {
    const node = element.current;
    if (!node || sticks.current) return;
    const { top, height } = seen.current;
    node.scrollTop = top + node.scrollHeight - height;
    seen.current = placeOf(node);
  }, []);

  const box = useCallback(
    (node: HTMLElement | null) => {
      element.current = node;
      if (!node) return;
      const onScroll = () => {
        const { top, height, box } = seen.current;
        // The position also decreases without the user: when the list becomes shorter, and when its box grows because
        // a banner below it disappears.
        if (node.scrollTop < top && node.scrollHeight >= height && node.clientHeight <= box)
          sticks.current = false;
        else if (node.scrollTop > top && isNear(node)) sticks.current = true;
        seen.current = placeOf(node);
        setAtEnd(!follows || sticks.current || isNear(node));
      };
      node.addEventListener('scroll', onScroll, { passive: true });
      const observer = new ResizeObserver(follow);
      observer.observe(node);
      return () => {
        node.removeEventListener('scroll', onScroll);
        observer.disconnect();
      };
    },
    [follow, follows],
  );

  const content = useCallback(
    (node: HTMLElement | null) => {
      if (!node) return;
      const observer = new ResizeObserver(follow);
      observer.observe(node);
      return () => observer.disconnect();
    },
    [follow],
  );

  return { box, content, isAtEnd, toEnd, keepPlace };
}

function placeOf({ scrollTop, scrollHeight, clientHeight }: HTMLElement) {
  return { top: scrollTop, height: scrollHeight, box: clientHeight };
}

function isNear({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_PX;
}
