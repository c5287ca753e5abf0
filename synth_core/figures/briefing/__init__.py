"""What one leaves a meeting with: the results of scenarios as pages, for PowerPoint and as one HTML file.

`content` decides what stands on which page, and which pages may leave; `charts` has the numbers of charts;
`powerpoint` and `web_page` only draw them.
"""
