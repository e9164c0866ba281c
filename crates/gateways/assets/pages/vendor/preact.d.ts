export interface VNode { type: unknown; props: Record<string, any>; key: unknown }
export type Child = VNode | object | string | number | bigint | boolean | null | undefined | Child[];
export interface Component<P = {}> { props: P }
export function h(type: any, props: any, ...children: any[]): VNode;
export function render(node: Child, parent: Element): void;
export function createContext<T>(value: T): { Provider: any; Consumer: any };
export function cloneElement(node: VNode, props?: object): VNode;
export const Fragment: (props: { children?: Child }) => VNode;
export class Component<P = {}, S = {}> {
  constructor(props?: P);
  props: P; state: S;
  setState(state: Partial<S>): void;
  componentDidCatch?(error: unknown): void;
  render(props: P, state: S): Child;
}
