// The command line of CmdStan (methods `sample`, `generate_quantities`, `log_prob` and `info`)
// over Stan's public services.
//
// The package registry carries Stan's headers and its translator but not CmdStan's own
// `main`. This file answers what cmdstanpy passes to a model executable and writes the CSV
// that cmdstanpy reads. It is compiled once; every model links against it through
// `new_model`, the function that stanc writes into each translated program.
// An argument that is not in `grammar()` is refused: ignoring one would change results.

// Stan's generator has 128 bits of state, and its `create_rng` fills 64 of them from two arguments that every user of
// the machine can read. Words that come with the data, in a private file, fill all of it instead.
#define STAN_SERVICES_UTIL_CREATE_RNG_HPP
#include <boost/random/mixmax.hpp>
#include <vector>
namespace synth {
inline std::vector<int>& random_words() {  // four of 31 bits, or none
  static std::vector<int> words;
  return words;
}
}  // namespace synth
namespace stan {
using rng_t = boost::random::mixmax;
namespace services {
namespace util {
inline rng_t create_rng(unsigned int seed, unsigned int chain) {
  const std::vector<int>& words = synth::random_words();
  return words.empty() ? rng_t(0, 1, seed, chain) : rng_t(words[0], words[1], words[2], words[3]);
}
}  // namespace util
}  // namespace services
}  // namespace stan

#include <stan/callbacks/interrupt.hpp>
#include <stan/callbacks/stream_logger.hpp>
#include <stan/callbacks/writer.hpp>
#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data_handler.hpp>
#include <stan/io/json/rapidjson_parser.hpp>

// As Stan's own, but from memory: a stream is asked for one character at a time, which takes longer than the numbers.
template <>
inline void stan::json::rapidjson_parse(std::istream& in, json_data_handler& handler) {
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  rapidjson::StringStream stream(text.c_str());
  rapidjson::Reader reader;
  RapidJSONHandler<json_data_handler> filter(handler);
  constexpr unsigned flags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag |
                             rapidjson::kParseFullPrecisionFlag;
  handler.start_text();
  if (!reader.Parse<flags>(stream, filter))
    throw json_error("Error in JSON parsing at offset " + std::to_string(reader.GetErrorOffset()) + ": " +
                     (filter.error_message_.empty() ? rapidjson::GetParseError_En(reader.GetParseErrorCode())
                                                    : filter.error_message_));
  handler.end_text();
}

#include <stan/io/json/json_data.hpp>  // after it, since it parses
#include <stan/model/log_prob_grad.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/sample/fixed_param.hpp>
#include <stan/services/sample/hmc_nuts_dense_e.hpp>
#include <stan/services/sample/hmc_nuts_dense_e_adapt.hpp>
#include <stan/services/sample/hmc_nuts_diag_e.hpp>
#include <stan/services/sample/hmc_nuts_diag_e_adapt.hpp>
#include <stan/services/sample/hmc_nuts_unit_e.hpp>
#include <stan/services/sample/hmc_nuts_unit_e_adapt.hpp>
#include <stan/services/sample/standalone_gqs.hpp>
#include <stan/services/util/create_unit_e_dense_inv_metric.hpp>
#include <stan/services/util/create_unit_e_diag_inv_metric.hpp>
#include <stan/version.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed,
                                   std::ostream* messages);

namespace {

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---------------------------------------------------------------------------
// The grammar: sections hold arguments, a choice holds one section per value.

enum class kind { section, choice, integer, real, boolean, text };

struct node {
  std::string name;
  kind type;
  std::string value;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool open = false;  // bounds excluded
  std::vector<node> children;
  bool given = false;
};

node section(std::string name, std::vector<node> children) {
  node n{std::move(name), kind::section, ""};
  n.children = std::move(children);
  return n;
}
node choice(std::string name, std::string value, std::vector<node> children) {
  node n{std::move(name), kind::choice, std::move(value)};
  n.children = std::move(children);
  return n;
}
node integer(std::string name, std::string value, double lower, double upper = 2147483647) {
  return {std::move(name), kind::integer, std::move(value), lower, upper};
}
node real(std::string name, std::string value, double lower, double upper, bool open) {
  return {std::move(name), kind::real, std::move(value), lower, upper, open};
}
node boolean(std::string name, bool value) {
  return {std::move(name), kind::boolean, value ? "true" : "false"};
}
node text(std::string name, std::string value = "") {
  return {std::move(name), kind::text, std::move(value)};
}

// Names, order and defaults are CmdStan's, so that a CSV header reads the same.
node grammar() {
  const double inf = std::numeric_limits<double>::infinity();
  auto unit = [](std::string name) { return section(std::move(name), {}); };
  return section(
      "", {choice("method", "sample",
                  {section("sample",
                           {integer("num_samples", "1000", 0), integer("num_warmup", "1000", 0),
                            boolean("save_warmup", false), integer("thin", "1", 1),
                            section("adapt",
                                    {boolean("engaged", true), real("gamma", "0.05", 0, inf, true),
                                     real("delta", "0.8", 0, 1, true),
                                     real("kappa", "0.75", 0, inf, true),
                                     real("t0", "10", 0, inf, true), integer("init_buffer", "75", 0),
                                     integer("term_buffer", "50", 0), integer("window", "25", 0)}),
                            choice("algorithm", "hmc",
                                   {section("hmc",
                                            {choice("engine", "nuts",
                                                    {section("nuts", {integer("max_depth", "10", 1)})}),
                                             choice("metric", "diag_e",
                                                    {unit("diag_e"), unit("dense_e"), unit("unit_e")}),
                                             text("metric_file"), real("stepsize", "1", 0, inf, true),
                                             real("stepsize_jitter", "0", 0, 1, false)}),
                                    unit("fixed_param")}),
                            integer("num_chains", "1", 1, 1)}),
                   section("generate_quantities",
                           {text("fitted_params"), integer("num_chains", "1", 1, 1)}),
                   section("log_prob", {text("unconstrained_params"), text("constrained_params"),
                                        boolean("jacobian", true)})}),
           integer("id", "1", 1),
           section("data", {text("file")}),
           text("init", "2"),
           section("random", {integer("seed", "-1", -1, 4294967295.0)}),
           section("output", {text("file", "output.csv"), text("diagnostic_file"),
                              integer("refresh", "100", 0), integer("sig_figs", "8", -1, 18)}),
           integer("num_threads", "1", 1, 1)});
}

double number(const std::string& name, const std::string& value) {
  std::size_t used = 0;
  double result = std::nan("");
  try {
    result = std::stod(value, &used);
  } catch (const std::exception&) {
  }
  if (used != value.size() || std::isnan(result))
    throw usage_error("argument '" + name + "': '" + value + "' is not a number");
  return result;
}

void assign(node& n, const std::string& value) {
  if (n.type == kind::boolean) {
    if (value != "0" && value != "1" && value != "false" && value != "true")
      throw usage_error("argument '" + n.name + "' takes 0, 1, false or true, not '" + value + "'");
    n.value = (value == "1" || value == "true") ? "true" : "false";
  } else if (n.type == kind::text) {
    n.value = value;
  } else {
    const double x = number(n.name, value);
    const bool whole = n.type != kind::integer || x == std::floor(x);
    const bool inside = n.open ? (x > n.lower && x < n.upper) : (x >= n.lower && x <= n.upper);
    if (!whole || !inside) {
      std::ostringstream message;
      message << "argument '" << n.name << "': '" << value << "' is not "
              << (n.type == kind::integer ? "a whole number" : "a number") << " in "
              << (n.open ? "(" : "[") << n.lower << ", " << n.upper << (n.open ? ")" : "]");
      throw usage_error(message.str());
    }
    n.value = value;
  }
  n.given = true;
}

// Consumes the tokens that belong to `n`; the first that does not is left to the caller.
void parse(node& n, const std::vector<std::string>& tokens, std::size_t& at) {
  while (at < tokens.size()) {
    const std::string& token = tokens[at];
    const auto equals = token.find('=');
    const std::string name = token.substr(0, equals);
    node* match = nullptr;
    for (node& child : n.children) {
      if (child.name == name && child.type != kind::section && equals != std::string::npos)
        match = &child;
      if (child.name == name && child.type == kind::section && equals == std::string::npos)
        match = &child;
      if (child.type == kind::choice && equals == std::string::npos)
        for (const node& option : child.children)
          if (option.name == name) match = &child;
    }
    if (match == nullptr) return;
    ++at;
    if (match->type == kind::section) {
      parse(*match, tokens, at);
    } else if (match->type == kind::choice) {
      const std::string value = equals == std::string::npos ? name : token.substr(equals + 1);
      node* option = nullptr;
      for (node& each : match->children)
        if (each.name == value) option = &each;
      if (option == nullptr)
        throw usage_error("argument '" + match->name + "': '" + value + "' is not supported here");
      match->value = value;
      match->given = true;
      parse(*option, tokens, at);
    } else {
      assign(*match, token.substr(equals + 1));
    }
  }
}

const node& find(const node& n, const std::string& path) {
  const auto dot = path.find('.');
  for (const node& child : n.children)
    if (child.name == path.substr(0, dot))
      return dot == std::string::npos ? child : find(child, path.substr(dot + 1));
  throw std::logic_error("no argument " + path);
}

void print(const node& n, std::ostream& out, const std::string& prefix, int depth) {
  for (const node& child : n.children) {
    out << prefix << std::string(2 * depth, ' ') << child.name;
    if (child.type == kind::section) {
      out << '\n';
      print(child, out, prefix, depth + 1);
      continue;
    }
    out << " = " << child.value << (child.given ? "" : " (Default)") << '\n';
    if (child.type != kind::choice) continue;
    for (const node& option : child.children)
      if (option.name == child.value && !option.children.empty()) {
        out << prefix << std::string(2 * (depth + 1), ' ') << option.name << '\n';
        print(option, out, prefix, depth + 2);
      }
  }
}

// ---------------------------------------------------------------------------

// Appends a number with so many significant digits; of 17, the fewest that read as the same number again.
void append(std::string& line, double value, int digits) {
  char text[40];
#ifdef __cpp_lib_to_chars  // a quarter of the time of a stream
  const auto end = digits >= 17 ? std::to_chars(text, text + sizeof text, value)
                                : std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
  line.append(text, end.ptr);
#else
  line.append(text, std::snprintf(text, sizeof text, "%.*g", digits, value));
#endif
}

// Stan's `unique_stream_writer`, with numbers as above.
class writer final : public stan::callbacks::writer {
 public:
  writer(std::unique_ptr<std::ostream> output, int digits)
      : output_(std::move(output)), digits_(digits > 0 ? digits : 6) {}
  bool is_valid() const noexcept override { return output_ != nullptr; }
  void operator()(const std::vector<std::string>& names) override {
    line_.clear();
    for (const std::string& name : names) (line_ += name) += ',';
    write();
  }
  void operator()(const std::vector<double>& values) override { row(values.data(), values.size()); }
  void operator()(const Eigen::VectorXd& values) override { row(values.data(), values.size()); }
  void operator()() override { comment(""); }
  void operator()(const std::string& message) override { comment(message); }

 private:
  void row(const double* values, std::size_t n) {
    line_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      append(line_, values[i], digits_);
      line_ += ',';
    }
    write();
  }
  void write() {
    if (!output_ || line_.empty()) return;
    line_.back() = '\n';
    output_->write(line_.data(), line_.size());
  }
  void comment(const std::string& message) {
    if (output_) *output_ << "# " << message << std::endl;
  }
  std::unique_ptr<std::ostream> output_;
  int digits_;
  std::string line_;  // kept, so that its memory is
};

std::unique_ptr<stan::io::var_context> read_json(const std::string& file, const std::string& what) {
  if (file.empty()) return std::make_unique<stan::io::empty_var_context>();
  if (file.size() < 5 || file.substr(file.size() - 5) != ".json")
    throw input_error(what + " file '" + file + "' is not a .json file");
  std::ifstream in(file);
  if (!in) throw input_error("cannot open " + what + " file '" + file + "'");
  try {
    return std::make_unique<stan::json::json_data>(in);
  } catch (const std::exception& e) {
    throw input_error("error reading " + what + " file '" + file + "': " + e.what());
  }
}

std::unique_ptr<std::ostream> open_output(const std::string& file, int digits) {
  if (file.empty()) return nullptr;
  auto out = std::make_unique<std::ofstream>(file);
  if (!*out) throw input_error("cannot open output file '" + file + "'");
  if (digits > 0) *out << std::setprecision(digits);
  return out;
}

void write_header(std::ostream& out, const node& args, const std::string& model) {
  char now[32];
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S UTC", std::gmtime(&time));
  out << "# stan_version_major = " << STAN_MAJOR << "\n# stan_version_minor = " << STAN_MINOR
      << "\n# stan_version_patch = " << STAN_PATCH << "\n# model = " << model
      << "\n# start_datetime = " << now << '\n';
  print(args, out, "# ", 0);
}

int info() {
  std::cout << "stan_version_major = " << STAN_MAJOR << "\nstan_version_minor = " << STAN_MINOR
            << "\nstan_version_patch = " << STAN_PATCH
            << "\nSTAN_RANDOM_WORDS=true\nSTAN_THREADS=false\nSTAN_MPI=false\nSTAN_OPENCL=false"
               "\nSTAN_NO_RANGE_CHECKS=false\nSTAN_CPP_OPTIMS=false\n";
  return stan::services::error_codes::OK;
}

// The seed that was given; else the clock's, noted in `args` so that the header tells it.
unsigned int take_seed(node& args) {
  node& seed_node = const_cast<node&>(find(args, "random.seed"));
  if (seed_node.value == "-1")
    seed_node.value = std::to_string(static_cast<unsigned int>(
        std::chrono::system_clock::now().time_since_epoch().count() / 1000000));
  return static_cast<unsigned int>(std::stod(seed_node.value));
}

// The columns `names` of a Stan CSV file, one row a draw; other columns are skipped.
Eigen::MatrixXd read_draws(const std::string& file, const std::vector<std::string>& names) {
  std::ifstream in(file);
  if (!in) throw input_error("cannot open fitted_params file '" + file + "'");
  std::vector<int> target;  // of each column of the file: which parameter, or -1
  std::vector<double> values;
  std::string line, cell;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    if (target.empty()) {
      std::unordered_map<std::string, int> place;
      for (std::size_t i = 0; i < names.size(); ++i) place[names[i]] = static_cast<int>(i);
      std::size_t found = 0;
      while (std::getline(cells, cell, ',')) {
        const auto at = place.find(cell);
        target.push_back(at == place.end() ? -1 : at->second);
        found += at != place.end();
      }
      if (found != names.size()) {
        for (int used : target)
          if (used >= 0) place.erase(names[used]);
        throw input_error("fitted_params file '" + file + "' has no column '" +
                          (place.empty() ? "" : place.begin()->first) + "'");
      }
      continue;
    }
    const std::size_t row = values.size();
    values.resize(row + names.size());
    std::size_t column = 0;
    for (; std::getline(cells, cell, ','); ++column)
      if (column < target.size() && target[column] >= 0)
        values[row + target[column]] = number("fitted_params", cell);
    if (column != target.size())
      throw input_error("fitted_params file '" + file + "' has a row of " + std::to_string(column) +
                        " values under " + std::to_string(target.size()) + " names");
  }
  using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<rows>(values.data(), names.empty() ? 0 : values.size() / names.size(),
                          names.size());
}

int generate_quantities(node& args) {
  const unsigned int seed = take_seed(args);
  auto data = read_json(find(args, "data.file").value, "data");
  stan::model::model_base& model = new_model(*data, seed, &std::cout);
  std::vector<std::string> names;
  model.constrained_param_names(names, false, false);
  const std::string fitted = find(args, "method.generate_quantities.fitted_params").value;
  if (fitted.empty()) throw usage_error("argument 'fitted_params' is needed");
  const Eigen::MatrixXd draws = read_draws(fitted, names);
  const int digits = static_cast<int>(std::stod(find(args, "output.sig_figs").value));
  auto stream = open_output(find(args, "output.file").value, digits);
  if (stream) write_header(*stream, args, model.model_name());
  writer output(std::move(stream), digits);
  stan::callbacks::interrupt interrupt;
  stan::callbacks::stream_logger logger(std::cout, std::cout, std::cout, std::cerr, std::cerr);
  return stan::services::standalone_generate(model, draws, seed, interrupt, logger, output);
}

int log_prob(node& args) {
  const unsigned int seed = take_seed(args);
  const std::string free_file = find(args, "method.log_prob.unconstrained_params").value;
  const std::string file = find(args, "method.log_prob.constrained_params").value;
  if (file.empty() == free_file.empty())
    throw usage_error("one of 'constrained_params' and 'unconstrained_params' is needed");
  auto data = read_json(find(args, "data.file").value, "data");
  stan::model::model_base& model = new_model(*data, seed, &std::cout);
  std::vector<double> values, gradient;
  std::vector<int> none;
  if (!file.empty()) {
    auto given = read_json(file, "constrained_params");
    model.transform_inits(*given, none, values, &std::cout);
  } else {
    auto given = read_json(free_file, "unconstrained_params");
    values = given->vals_r("params_r");
    if (values.size() != model.num_params_r())
      throw input_error("'params_r' holds " + std::to_string(values.size()) + " values, the model has " +
                        std::to_string(model.num_params_r()) + " unconstrained parameters");
  }
  const double value =
      find(args, "method.log_prob.jacobian").value == "true"
          ? stan::model::log_prob_grad<true, true>(model, values, none, gradient, &std::cout)
          : stan::model::log_prob_grad<true, false>(model, values, none, gradient, &std::cout);
  const int digits = static_cast<int>(std::stod(find(args, "output.sig_figs").value));
  auto out = open_output(find(args, "output.file").value, digits);
  if (!out) throw usage_error("argument 'output file' is needed");
  write_header(*out, args, model.model_name());
  std::vector<std::string> names;
  model.unconstrained_param_names(names, false, false);
  *out << "lp__";
  for (const std::string& name : names) *out << ",g_" << name;
  *out << '\n' << value;
  for (double slope : gradient) *out << ',' << slope;
  *out << '\n';
  return stan::services::error_codes::OK;
}

int sample(node& args) {
  namespace run = stan::services::sample;
  auto whole = [&](const char* path) { return static_cast<int>(std::stod(find(args, path).value)); };
  auto real = [&](const char* path) { return std::stod(find(args, path).value); };
  auto flag = [&](const char* path) { return find(args, path).value == "true"; };

  const unsigned int seed = take_seed(args);
  const unsigned int chain = whole("id");

  const std::string init_value = find(args, "init").value;
  std::string init_file;
  double init_radius = 2;
  try {
    std::size_t used = 0;
    init_radius = std::stod(init_value, &used);
    if (used != init_value.size()) throw std::invalid_argument(init_value);
    if (!(init_radius >= 0)) throw usage_error("argument 'init' must not be negative");
  } catch (const usage_error&) {
    throw;
  } catch (const std::exception&) {
    init_radius = 2;
    init_file = init_value;
  }

  auto data = read_json(find(args, "data.file").value, "data");
  if (data->contains_i("synth_random_words")) {
    const std::vector<int> words = data->vals_i("synth_random_words");  // of one chain after another
    if (words.size() < 4 * chain) throw input_error("there are not four random words for every chain");
    synth::random_words().assign(words.begin() + 4 * (chain - 1), words.begin() + 4 * chain);
  }
  auto init = read_json(init_file, "init");
  stan::model::model_base& model = new_model(*data, seed, &std::cout);

  const int digits = whole("output.sig_figs");
  auto sample_stream = open_output(find(args, "output.file").value, digits);
  auto diagnostic_stream = open_output(find(args, "output.diagnostic_file").value, digits);
  for (std::ostream* out : {sample_stream.get(), diagnostic_stream.get()})
    if (out) write_header(*out, args, model.model_name());
  print(args, std::cout, "", 0);
  std::cout << std::endl;

  writer sample_writer(std::move(sample_stream), digits);
  writer diagnostic_writer(std::move(diagnostic_stream), digits);
  stan::callbacks::writer init_writer;
  stan::callbacks::structured_writer metric_writer;
  stan::callbacks::interrupt interrupt;
  stan::callbacks::stream_logger logger(std::cout, std::cout, std::cout, std::cerr, std::cerr);

  const int draws = whole("method.sample.num_samples"), warmup = whole("method.sample.num_warmup");
  const int thin = whole("method.sample.thin"), refresh = whole("output.refresh");
  const bool save_warmup = flag("method.sample.save_warmup");
  if (find(args, "method.sample.algorithm").value == "fixed_param" || model.num_params_r() == 0)
    return run::fixed_param(model, *init, seed, chain, init_radius, draws, thin, refresh, interrupt,
                            logger, init_writer, sample_writer, diagnostic_writer);

  const std::string hmc = "method.sample.algorithm.hmc.";
  const std::string metric = find(args, hmc + "metric").value;
  const std::string metric_file = find(args, hmc + "metric_file").value;
  const double step = real((hmc + "stepsize").c_str());
  const double jitter = real((hmc + "stepsize_jitter").c_str());
  const int depth = whole((hmc + "engine.nuts.max_depth").c_str());

  std::unique_ptr<stan::io::var_context> inverse_metric = read_json(metric_file, "metric");
  if (metric_file.empty() && metric == "diag_e")
    inverse_metric = std::make_unique<stan::io::array_var_context>(
        stan::services::util::create_unit_e_diag_inv_metric(model.num_params_r()));
  if (metric_file.empty() && metric == "dense_e")
    inverse_metric = std::make_unique<stan::io::array_var_context>(
        stan::services::util::create_unit_e_dense_inv_metric(model.num_params_r()));
  if (!metric_file.empty() && metric == "unit_e")
    throw usage_error("argument 'metric_file' has no meaning with metric=unit_e");

  const std::string adapt = "method.sample.adapt.";
  if (flag((adapt + "engaged").c_str()) && warmup > 0) {
    const double delta = real((adapt + "delta").c_str()), gamma = real((adapt + "gamma").c_str());
    const double kappa = real((adapt + "kappa").c_str()), t0 = real((adapt + "t0").c_str());
    const unsigned int init_buffer = whole((adapt + "init_buffer").c_str());
    const unsigned int term_buffer = whole((adapt + "term_buffer").c_str());
    const unsigned int window = whole((adapt + "window").c_str());
    if (metric == "diag_e")
      return run::hmc_nuts_diag_e_adapt(
          model, *init, *inverse_metric, seed, chain, init_radius, warmup, draws, thin, save_warmup,
          refresh, step, jitter, depth, delta, gamma, kappa, t0, init_buffer, term_buffer, window,
          interrupt, logger, init_writer, sample_writer, diagnostic_writer, metric_writer);
    if (metric == "dense_e")
      return run::hmc_nuts_dense_e_adapt(
          model, *init, *inverse_metric, seed, chain, init_radius, warmup, draws, thin, save_warmup,
          refresh, step, jitter, depth, delta, gamma, kappa, t0, init_buffer, term_buffer, window,
          interrupt, logger, init_writer, sample_writer, diagnostic_writer, metric_writer);
    return run::hmc_nuts_unit_e_adapt(
        model, *init, seed, chain, init_radius, warmup, draws, thin, save_warmup, refresh, step,
        jitter, depth, delta, gamma, kappa, t0, interrupt, logger, init_writer, sample_writer,
        diagnostic_writer, metric_writer);
  }
  if (metric == "diag_e")
    return run::hmc_nuts_diag_e(model, *init, *inverse_metric, seed, chain, init_radius, warmup,
                                draws, thin, save_warmup, refresh, step, jitter, depth, interrupt,
                                logger, init_writer, sample_writer, diagnostic_writer);
  if (metric == "dense_e")
    return run::hmc_nuts_dense_e(model, *init, *inverse_metric, seed, chain, init_radius, warmup,
                                 draws, thin, save_warmup, refresh, step, jitter, depth, interrupt,
                                 logger, init_writer, sample_writer, diagnostic_writer);
  return run::hmc_nuts_unit_e(model, *init, seed, chain, init_radius, warmup, draws, thin,
                              save_warmup, refresh, step, jitter, depth, interrupt, logger,
                              init_writer, sample_writer, diagnostic_writer);
}

}  // namespace

int main(int argc, const char* argv[]) {
  using stan::services::error_codes;
  const std::vector<std::string> tokens(argv + 1, argv + argc);
  if (tokens.size() == 1 && tokens[0] == "info") return info();
  try {
    if (tokens.empty())
      throw usage_error(
          "no method given; 'sample', 'generate_quantities', 'log_prob' and 'info' are supported");
    node args = grammar();
    std::size_t at = 0;
    parse(args, tokens, at);
    if (at < tokens.size())
      throw usage_error("argument '" + tokens[at] + "' is not known here" +
                        (at > 0 ? " (after '" + tokens[at - 1] + "')" : ""));
    if (!find(args, "method").given) throw usage_error("no method given; say 'sample'");
    const std::string method = find(args, "method").value;
    if (method == "generate_quantities") return generate_quantities(args);
    if (method == "log_prob") return log_prob(args);
    return sample(args);
  } catch (const usage_error& e) {
    std::cerr << e.what() << std::endl;
    return error_codes::USAGE;
  } catch (const input_error& e) {
    std::cerr << e.what() << std::endl;
    return error_codes::NOINPUT;
  } catch (const std::bad_alloc&) {
    std::cerr << "Error: out of memory" << std::endl;
    return error_codes::SOFTWARE;
  } catch (const std::exception& e) {
    std::cerr << "Error: " << e.what() << std::endl;
    return error_codes::SOFTWARE;
  }
}
