// Generated quantities of an own program in binary: written by the executable itself, in place of the text of
// `generate_quantities`, when SYNTH_QUANTITIES names a file of draws. Given to the compiler as a user header of every
// own program; `main` is CmdStan's, which asks for the model through `new_model`.
//
// The file of draws: a line of names of the parameters' elements and a line of wanted quantities, each separated by
// commas, four random numbers of 31 bits on a line of their own, then a double for each draw and element. Beside it, with ".out" added: an
// int64 for each wanted quantity, how many elements it has, then a double for each draw and element in that order.
#ifndef SYNTH_QUANTITIES_HPP
#define SYNTH_QUANTITIES_HPP
#include <stan/model/model_header.hpp>
#include <stan/services/util/create_rng.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

stan::model::model_base& synth_new_model(stan::io::var_context& data, unsigned int seed, std::ostream* messages);

namespace synth_quantities {

inline std::vector<std::string> names_in(std::istream& in) {
  std::string line, name;
  std::getline(in, line);
  std::stringstream cells(line);
  std::vector<std::string> found;
  while (std::getline(cells, name, ',')) found.push_back(name);
  return found;
}

// The columns of `names` that belong to a quantity.
inline std::vector<std::size_t> columns_of(const std::string& quantity, const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].substr(0, names[i].find('.')) == quantity) found.push_back(i);
  return found;
}

inline void write(const stan::model::model_base& model, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<std::string> given = names_in(in), wanted = names_in(in);
  std::vector<std::uint32_t> words;  // the whole state of Stan's generator
  for (const std::string& word : names_in(in)) words.push_back(std::stoul(word));
  std::vector<std::string> parameters, all;
  model.constrained_param_names(parameters, false, false);
  model.constrained_param_names(all, false, true);
  std::vector<std::size_t> place;  // of each parameter's element in a draw
  for (const std::string& name : parameters) {
    const auto at = std::find(given.begin(), given.end(), name);
    if (at == given.end()) throw std::runtime_error("the draws have no column '" + name + "'");
    place.push_back(at - given.begin());
  }
  std::ofstream out(file + ".out", std::ios::binary);
  std::vector<std::size_t> chosen;
  for (const std::string& name : wanted) {
    const std::vector<std::size_t> columns = columns_of(name, all);
    const std::int64_t count = columns.size();
    out.write(reinterpret_cast<const char*>(&count), sizeof count);
    chosen.insert(chosen.end(), columns.begin(), columns.end());
  }
  stan::rng_t rng(words.at(0), words.at(1), words.at(2), words.at(3));
  std::vector<double> draw(given.size()), constrained(place.size()), unconstrained, values, row(chosen.size());
  std::vector<int> none;
  const std::streamsize size = given.size() * sizeof(double);
  while (in.read(reinterpret_cast<char*>(draw.data()), size)) {
    for (std::size_t i = 0; i < place.size(); ++i) constrained[i] = draw[place[i]];
    model.unconstrain_array(constrained, unconstrained, &std::cout);
    values.clear();
    try {
      model.write_array(rng, unconstrained, none, values, false, true, &std::cout);
    } catch (const std::domain_error& error) {  // CmdStan goes on too, with what is not a number
      std::cout << error.what() << std::endl;
    }
    values.resize(all.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < chosen.size(); ++i) row[i] = values[chosen[i]];
    out.write(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(double));
  }
  out.close();
  if (!out) throw std::runtime_error("the quantities could not be written");
}

}  // namespace synth_quantities

stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed, std::ostream* messages) {
  stan::model::model_base& model = synth_new_model(data, seed, messages);
  const char* file = std::getenv("SYNTH_QUANTITIES");
  if (file == nullptr) return model;
  int status = 0;
  try {
    synth_quantities::write(model, file);
  } catch (const std::exception& error) {
    std::cout << "Exception: " << error.what() << std::endl;
    status = 70;
  }
  std::cout.flush();
  std::_Exit(status);
}

#define new_model synth_new_model  // what stanc writes below
#endif
