import type { ComponentType } from 'react';

/** The panels that can be opened beside the conversation. */
export type PanelName = 'inspector' | 'audit';

/** The properties that a panel gets. */
export interface PanelProps {
  sessionId: string;
}

type Module = { default: ComponentType<PanelProps> };

/** The panels of this build. Each is `src/<name>/panel.tsx` with a default export, loaded when it is first opened. */
const MODULES = import.meta.glob<Module>(['../inspector/panel.tsx', '../audit/panel.tsx']);

/** Loads a panel. */
export async function loadPanel(name: PanelName): Promise<Module> {
  const load = MODULES[`../${name}/panel.tsx`];
  if (!load) throw new Error(`There is no panel ${name} in this build.`);
  return load();
}
