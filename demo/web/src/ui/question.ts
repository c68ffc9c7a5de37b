/** A question that the user answers before an action that cannot be undone. */
export interface Question {
  title: string;
  text: string;
  action: string;
  isOpen: boolean;
  /** Returns the element that gets the focus after the answer. Needed when the focused element, such as a menu item, will be removed by then. */
  opener?: () => HTMLElement | null | undefined;
  onAnswer: (isConfirmed: boolean) => void;
}
