import { useEffect, useRef } from 'react';

const BARS = [0.55, 0.85, 1, 0.85, 0.55];

/** The level of the current speaker. It is drawn outside of React, because it changes with every frame. */
export function LevelMeter({ level, look }: { level: () => number; look: string }) {
  const bars = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let shown = 0;
    let frame = 0;
    const draw = () => {
      const now = level();
      // It rises at once and falls slowly, as meters do.
      shown = now > shown ? now : shown * 0.85 + now * 0.15;
      for (const [index, bar] of [...(bars.current?.children ?? [])].entries()) {
        const height = Math.min(1, 0.15 + Math.sqrt(shown) * (BARS[index] ?? 1));
        (bar as HTMLElement).style.transform = `scaleY(${height.toFixed(3)})`;
      }
      bars.current?.setAttribute('data-level', shown.toFixed(2));
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => cancelAnimationFrame(frame);
  }, [level]);
  return (
    <span
      ref={bars}
      aria-hidden="true"
      data-testid="voice-level"
      className="flex h-5 shrink-0 items-center gap-0.5"
    >
      {BARS.map((bar, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars never change places
        <span key={`${bar}-${index}`} className={`h-full w-1 rounded-full ${look}`} />
      ))}
    </span>
  );
}
