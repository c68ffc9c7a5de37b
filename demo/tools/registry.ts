/**
 * The tools of the demo, in the order in which the agent learns of them and the page suggests them. Each is the folder of
 * that name, with all there is about it: to add one, write its folder and add its line here.
 */
export const TOOLS = ['payment', 'weather', 'music', 'location'];
